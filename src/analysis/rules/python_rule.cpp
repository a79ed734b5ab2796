// SPDX-License-Identifier: MIT
#include "hpo/analysis/rules/python_rule.hpp"

#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace hpo::analysis::detail {

/// A Python string literal. Control characters are escaped by their number.
[[nodiscard]] std::string python_quote(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        char escaped[8];
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
            quoted += escaped;
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
}

[[nodiscard]] std::string python_literal(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return python_quote(*text);
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
    return value.is_null() ? "None" : json_text(value);
}

[[nodiscard]] std::string python_condition(const Condition& condition) {
    const std::string name = python_quote(condition.param);
    if (condition.relation == Condition::Relation::one_of) {
        std::string choices;
        for (const Value& choice : condition.choices) choices += (choices.empty() ? "" : ", ") + python_literal(choice);
        return name + " in p and p[" + name + "] in [" + choices + "]";
    }
    return name + " in p and p[" + name + (condition.relation == Condition::Relation::at_least ? "] >= " : "] <= ") +
           condition.bound_text();
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::string python_rule(std::span<const OomRegion> regions, const std::set<OomCause>& causes) {
    if (causes.empty()) return {};
    std::string text = "import optuna\n";
    if (causes.contains(OomCause::fragmentation))
        text += "\n# Against fragmentation, before Python starts: export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
    if (causes.contains(OomCause::leak))
        text += "\n# Against leaks: run each trial in a process of its own, or end the program every few trials.\n";
    std::string refusals;
    for (const OomRegion& region : regions) {
        const std::string share = std::to_string(region.oom) + " of " + std::to_string(region.trials) + " trials ran out of memory with " +
                                  describe(region.region);
        if (region.recovered > 0 || !region.best.empty()) {
            text += "\n# " + detail::one_line(share) + ".\n# " +
                    (region.best.empty() ? "Some of them ran later" : detail::best_trials_text(region.best) + " there") +
                    ", so it is not refused as a whole.\n";
            continue;
        }
        std::string conditions;
        for (const Condition& condition : region.region)
            conditions += (conditions.empty() ? "        " : "\n        and ") + detail::python_condition(condition);
        refusals += "    if (\n" + conditions + "\n    ):\n        raise optuna.TrialPruned(" + detail::python_quote(share) + ")\n";
    }
    if (!refusals.empty()) {
        text +=
            "\n\ndef require_fits(trial):\n    \"\"\"Call it in the objective, after the last suggest_...(), before anything is on the "
            "GPU.\"\"\"\n    p = trial.params\n" +
            refusals;
    }
    text +=
        "\n\ndef keeps_message(objective):\n"
        "    \"\"\"study.optimize(keeps_message(objective)): prunes a trial that runs out of memory, and keeps why.\"\"\"\n\n"
        "    def run(trial):\n"
        "        try:\n"
        "            return objective(trial)\n"
        "        except RuntimeError as error:  # PyTorch's OutOfMemoryError is one\n"
        "            trial.set_user_attr(\"error_message\", f\"{type(error).__name__}: {error}\")\n"
        "            if \"out of memory\" not in str(error).lower():\n"
        "                raise\n"
        "        # Here the error no longer holds the trial's tensors.\n"
        "        raise optuna.TrialPruned(\"out of memory\")\n\n"
        "    return run\n";
    return text;
}

}  // namespace hpo::analysis
