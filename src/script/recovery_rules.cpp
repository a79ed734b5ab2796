// SPDX-License-Identifier: MIT
#include "hpo/script/recovery_rules.hpp"

#include <string>

#include "hpo/core/plan.hpp"
#include "hpo/core/plan_text.hpp"
#include "hpo/core/value.hpp"
#include "hpo/failure/retry_words.hpp"

namespace hpo::script {

std::string retry_words(const FailedAttempt& failed, const Recovery& retry) {
    const ExecutionPlan& before = failed.attempt.plan;
    const auto micro = before.effective_micro_batch();
    std::string text = is_memory(failed.failure.kind) ? "out of memory" : std::string{to_text(failed.failure.kind)};
    if (micro) text += " at micro-batch " + std::to_string(*micro);
    text += ": retry";
    std::string separator = " ";
    const auto add = [&](const std::string& change) {
        text += separator + change;
        separator = ", ";
    };
    if (const auto next = retry.plan.effective_micro_batch(); next && next != micro)
        add("at " + std::to_string(*next) + " with " + std::to_string(retry.plan.accumulation_steps()) +
            (retry.plan.accumulation_steps() == 1 ? " accumulation step" : " accumulation steps"));
    each_plan_field([&](const auto& field) {
        const auto& value = retry.plan.*field.member;
        if (field.key == "micro_batch" || value == before.*field.member) return;
        if (field.key == "device" && !failed.may_have_device(retry.plan.device)) return;  // it runs elsewhere
        const std::string words = plan_words(field, value);
        add(words.empty() ? "without " + std::string{field.label} : "with " + words);
    });
    if (retry.params) {
        const ParamSet& known = params_of(failed.trial, failed.attempt);
        for (const Param& param : *retry.params) {
            const Param* const old = known.find(param.name);
            if (!old || old->value() != param.value()) add("with " + param.name + " " + display_text(param.value()));
        }
    }
    if (retry.fresh_worker) add("in a fresh worker");
    if (retry.other_device && failed.other_devices > 0) add("on another device");
    if (retry.pause_seconds > 0) add("after " + display_text(retry.pause_seconds) + " s");
    if (retry.wait_seconds) add(std::string{waits_for_free_memory});
    if (retry.alone) add("alone on the device");
    return text + (retry.reason.empty() ? " (the script's rule)" : " (rule: " + retry.reason + ")");
}

}  // namespace hpo::script
