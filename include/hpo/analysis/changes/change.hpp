// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/analysis/failure_cases/device_share.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/plan_text.hpp"

namespace hpo::analysis {

/// The smallest single change with which a failed attempt would have fitted.
struct Change {
    enum class Basis {
        attempt,  ///< a later attempt of the same trial fitted
        cure,     ///< other attempts of this cause ran so later; this one did not try it
        trial,    ///< another trial that needs at least as much fitted
        peaks,    ///< the peaks of the other trials say so; no trial has tried it
        figures,  ///< it follows from the failure's own figures; no trial has tried it
    } basis = Basis::figures;
    std::string what;                     ///< "micro-batch 16 instead of 64"
    std::optional<std::int64_t> bytes;    ///< the least amount, for memory to wait for and caps to raise
    std::optional<std::int64_t> witness;  ///< for Basis::trial, the trial that fitted
    std::optional<LargerShare> share{};   ///< the share of the device that a later attempt had
    std::string param{};                  ///< the number that is to be smaller, a parameter or "micro-batch"; empty: something else
    double at_most = 0;                   ///< of that number

    [[nodiscard]] std::string text() const {
        if (share) return what + " (" + share->text() + ")";
        return bytes ? what + " (at least " + format_bytes(*bytes) + ")" : what;
    }
};

[[nodiscard]] constexpr std::string_view to_text(Change::Basis basis) {
    switch (basis) {
        case Change::Basis::attempt: return "attempt";
        case Change::Basis::cure: return "cure";
        case Change::Basis::trial: return "trial";
        case Change::Basis::peaks: return "peaks";
        case Change::Basis::figures: return "figures";
    }
    return "figures";
}

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// How the second plan differs from the first, in words. Empty if the plans are equal.
[[nodiscard]] inline std::string plan_difference(const ExecutionPlan& failed, const ExecutionPlan& fitted) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    const auto from = failed.effective_micro_batch();
    const auto to = fitted.effective_micro_batch();
    if (to && from && *to != *from) add("micro-batch " + std::to_string(*to) + " instead of " + std::to_string(*from));
    each_plan_field([&](const auto& field) {
        if (field.unit == PlanUnit::examples || fitted.*field.member == failed.*field.member) return;
        if (const std::string words = plan_words(field, fitted.*field.member); !words.empty()) add(words);
    });
    return text;
}

[[nodiscard]] inline std::string change_text(const std::string& param, const Value& from, const Value& to) {
    return param + " " + display_text(to) + " instead of " + display_text(from);
}

}  // namespace hpo::analysis::detail
