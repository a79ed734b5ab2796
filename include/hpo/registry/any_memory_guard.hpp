// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "hpo/guard/concept.hpp"

namespace hpo::registry {

/// A memory guard chosen at run time. Move-only; a moved-from handle may only be assigned to or destroyed.
class AnyMemoryGuard {
public:
    // Identity is tested first, because the concept asks about this constructor.
    template <class P>
    requires(!std::same_as<P, AnyMemoryGuard> && MemoryGuard<P>) AnyMemoryGuard(P policy)
        : self_{std::make_unique<Model<P>>(std::move(policy))} {}

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const { return self_->estimate(query); }
    [[nodiscard]] Evidence evidence() const { return self_->evidence(); }
    [[nodiscard]] Evidence evidence(const MemoryQuery& query) const { return self_->evidence_for(query); }
    [[nodiscard]] bool carries() const { return self_->carries(); }
    [[nodiscard]] bool relearns(const Estimate& estimate) const { return self_->relearns(estimate); }
    [[nodiscard]] bool looks() const { return self_->looks(); }
    [[nodiscard]] std::optional<std::int64_t> room(const MemoryQuery& query) const { return self_->room(query); }

private:
    struct Interface {
        virtual ~Interface() = default;
        [[nodiscard]] virtual Estimate estimate(const MemoryQuery& query) const = 0;
        [[nodiscard]] virtual Evidence evidence() const = 0;
        [[nodiscard]] virtual Evidence evidence_for(const MemoryQuery& query) const = 0;
        [[nodiscard]] virtual bool carries() const = 0;
        [[nodiscard]] virtual bool relearns(const Estimate& estimate) const = 0;
        [[nodiscard]] virtual bool looks() const = 0;
        [[nodiscard]] virtual std::optional<std::int64_t> room(const MemoryQuery& query) const = 0;
    };
    template <class P>
    struct Model final : Interface {
        explicit Model(P inner) : policy{std::move(inner)} {}
        [[nodiscard]] Estimate estimate(const MemoryQuery& query) const override { return policy.estimate(query); }
        [[nodiscard]] Evidence evidence() const override { return policy.evidence(); }
        [[nodiscard]] Evidence evidence_for(const MemoryQuery& query) const override { return hpo::evidence_for(policy, query); }
        [[nodiscard]] bool carries() const override { return hpo::carries(policy); }
        [[nodiscard]] bool relearns(const Estimate& estimate) const override { return hpo::relearns(policy, estimate); }
        [[nodiscard]] bool looks() const override { return hpo::looks(policy); }
        [[nodiscard]] std::optional<std::int64_t> room(const MemoryQuery& query) const override { return hpo::room(policy, query); }
        P policy;
    };
    std::unique_ptr<Interface> self_;
};

static_assert(CarryingGuard<AnyMemoryGuard> && ChoosingGuard<AnyMemoryGuard> && LookingGuard<AnyMemoryGuard> &&
              RelearningGuard<AnyMemoryGuard> && !std::copyable<AnyMemoryGuard>);

}  // namespace hpo::registry
