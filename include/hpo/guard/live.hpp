// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "hpo/core/field.hpp"
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/concept.hpp"
#include "hpo/guard/dry_run.hpp"
#include "hpo/guard/formula.hpp"
#include "hpo/guard/probe.hpp"
#include "hpo/guard/virtual_card.hpp"

namespace hpo::guard {

/// Estimates as another guard does, and says how much memory other processes leave free on the device now. Admission shrinks a plan to fit
/// this. A plan that cannot be shrunk enough waits. A proposal is refused only if it would not fit an empty device.
///
/// Memory of the study's own attempts counts as free, because they end soon. Whether they leave enough free now is decided by the ledger.
class Live {
public:
    static constexpr std::string_view name = "live";
    static constexpr std::string_view summary = "holds a prediction against what other processes leave of the device now";
    struct Config {
        std::string base = "calibrated";
        double risk = 0.01;
    };
    static constexpr void fields(auto field) {
        field("base", &Config::base, "the guard that predicts: calibrated, virtual_card, dry_run, probe or formula");
        field("risk", &Config::risk, "of calibrated: probability that an attempt needs more than is estimated");
    }

    Live() : Live{Config{}} {}
    explicit Live(const Config& config) : base_{base_of(config)} {}

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return std::visit([&](const auto& guard) { return guard.estimate(query); }, *base_);
    }
    [[nodiscard]] std::optional<std::int64_t> room(const MemoryQuery& query) const {
        if (!query.device || !query.device->free) return std::nullopt;
        return std::max<std::int64_t>(0, *query.device->free);
    }
    [[nodiscard]] bool looks() const { return true; }
    [[nodiscard]] Evidence evidence() const {
        return std::visit([](const auto& guard) { return guard.evidence(); }, *base_);
    }
    [[nodiscard]] Evidence evidence(const MemoryQuery& query) const {
        return std::visit([&](const auto& guard) { return evidence_for(guard, query); }, *base_);
    }
    [[nodiscard]] bool carries() const {
        return std::visit([](const auto& guard) { return hpo::carries(guard); }, *base_);
    }
    [[nodiscard]] bool relearns(const Estimate& estimate) const {
        return std::visit([&](const auto& guard) { return hpo::relearns(guard, estimate); }, *base_);
    }

private:
    using Base = std::variant<Calibrated, VirtualCard, DryRun, Probe, Formula>;

    [[nodiscard]] static std::unique_ptr<const Base> base_of(const Config& config) {
        if (config.base == Calibrated::name) return std::make_unique<const Base>(Calibrated{Calibrated::Config{.risk = config.risk}});
        if (config.base == VirtualCard::name) return std::make_unique<const Base>(std::in_place_type<VirtualCard>);
        if (config.base == DryRun::name) return std::make_unique<const Base>(std::in_place_type<DryRun>);
        if (config.base == Probe::name) return std::make_unique<const Base>(std::in_place_type<Probe>);
        if (config.base == Formula::name) return std::make_unique<const Base>(std::in_place_type<Formula>);
        throw bad_value("base", "'" + config.base + "'", "calibrated, virtual_card, dry_run, probe or formula");
    }

    std::unique_ptr<const Base> base_;
};

static_assert(CarryingGuard<Live> && RelearningGuard<Live> && ChoosingGuard<Live> && LookingGuard<Live> && Configurable<Live>);

}  // namespace hpo::guard
