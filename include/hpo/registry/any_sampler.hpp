// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "hpo/sampler/concept.hpp"

namespace hpo::registry {

/// A sampler chosen at run time. Move-only; a moved-from handle may only be assigned to or destroyed. For a sampler without joint draws,
/// `suggest_joint` returns an empty set, so that every parameter is drawn one by one. One that may repeat itself has never tried all.
class AnySampler {
public:
    // Identity is tested first, because the concept asks about this constructor.
    template <class S>
    requires(!std::same_as<S, AnySampler> && Sampler<S>) AnySampler(S sampler) : self_{std::make_unique<Model<S>>(std::move(sampler))} {}

    [[nodiscard]] double suggest(const Ask& ask) { return self_->suggest(ask); }
    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng) { return self_->suggest_joint(trial, rng); }
    [[nodiscard]] bool all_tried(const TrialContext& trial) { return self_->all_tried(trial); }
    [[nodiscard]] bool is_exhaustive() const { return self_->is_exhaustive(); }
    void require_objectives(std::size_t objectives) const { self_->require_objectives(objectives); }
    void require_parameter(const std::string& name, const Distribution& distribution) const {
        self_->require_parameter(name, distribution);
    }
    [[nodiscard]] std::string explanation(std::size_t objectives, std::span<const ParamSet> trials) const {
        return self_->explanation(objectives, trials);
    }

private:
    struct Interface {
        virtual ~Interface() = default;
        virtual double suggest(const Ask& ask) = 0;
        virtual ParamSet suggest_joint(const TrialContext& trial, Rng& rng) = 0;
        virtual bool all_tried(const TrialContext& trial) = 0;
        [[nodiscard]] virtual bool is_exhaustive() const = 0;
        virtual void require_objectives(std::size_t objectives) const = 0;
        virtual void require_parameter(const std::string& name, const Distribution& distribution) const = 0;
        [[nodiscard]] virtual std::string explanation(std::size_t objectives, std::span<const ParamSet> trials) const = 0;
    };
    template <class S>
    struct Model final : Interface {
        explicit Model(S inner) : sampler{std::move(inner)} {}
        double suggest(const Ask& ask) override { return sampler.suggest(ask); }
        ParamSet suggest_joint([[maybe_unused]] const TrialContext& trial, [[maybe_unused]] Rng& rng) override {
            if constexpr (JointSampler<S>) return sampler.suggest_joint(trial, rng);
            else return {};
        }
        bool all_tried([[maybe_unused]] const TrialContext& trial) override {
            if constexpr (ExhaustiveSampler<S>) return sampler.all_tried(trial);
            else return false;
        }
        [[nodiscard]] bool is_exhaustive() const override { return hpo::is_exhaustive(sampler); }
        void require_objectives(std::size_t objectives) const override { hpo::require_objectives(sampler, objectives); }
        void require_parameter(const std::string& name, const Distribution& distribution) const override {
            hpo::require_parameter(sampler, name, distribution);
        }
        [[nodiscard]] std::string explanation(std::size_t objectives, std::span<const ParamSet> trials) const override {
            return explanation_of(sampler, objectives, trials);
        }
        S sampler;
    };
    std::unique_ptr<Interface> self_;
};

static_assert(JointSampler<AnySampler> && ExhaustiveSampler<AnySampler> && !std::copyable<AnySampler>);

}  // namespace hpo::registry
