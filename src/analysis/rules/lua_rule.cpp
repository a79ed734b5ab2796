// SPDX-License-Identifier: MIT
#include "hpo/analysis/rules/lua_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace hpo::analysis::detail {

std::string lua_quote(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            const std::string digits = std::to_string(byte);
            quoted += "\\" + std::string(3 - digits.size(), '0') + digits;
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
}

std::string lua_literal(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return lua_quote(*text);
    if (value.is_null()) return "nil";
    return json_text(value);
}

[[nodiscard]] std::string lua_condition(const Condition& condition) {
    const std::string param = "p[" + lua_quote(condition.param) + "]";
    if (condition.relation == Condition::Relation::one_of) {
        std::string text;
        for (const Value& choice : condition.choices) text += (text.empty() ? "" : " or ") + param + " == " + lua_literal(choice);
        return condition.choices.size() > 1 ? "(" + text + ")" : text;
    }
    return param + " ~= nil and " + param + (condition.relation == Condition::Relation::at_least ? " >= " : " <= ") +
           condition.bound_text();
}

std::string best_trials_text(std::span<const std::int64_t> numbers) {
    std::string text = numbers.size() == 1 ? "Trial " : "Trials ";
    for (std::size_t i = 0; i < numbers.size() && i < 3; ++i) text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
    if (numbers.size() > 3) text += " and " + std::to_string(numbers.size() - 3) + " more";
    return text + ", among the best, ran";
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::string lua_rule(std::span<const OomRegion> regions, const std::set<OomCause>& causes, bool knows_batch, const WaitRecord& waits) {
    if (causes.empty()) return {};
    std::string retries;
    if (causes.contains(OomCause::fragmentation) || causes.contains(OomCause::leak)) {
        retries +=
            "  if failure.attempt == 1 and (failure.cause == \"fragmentation\" or failure.cause == \"leak\") then\n    return hpo.retry { "
            "fresh_worker = true, expandable_segments = true }\n  end\n";
    }
    const bool in_vain = causes.contains(OomCause::neighbour) && !waits.may_help();
    if (causes.contains(OomCause::neighbour) && !in_vain) {
        retries +=
            "  if failure.cause == \"neighbour\" and failure.attempt <= 3 then\n    return hpo.retry { wait = true, timeout = \"10min\" "
            "}\n  end\n";
    }
    if (knows_batch)
        retries +=
            "  if plan.micro_batch and plan.micro_batch > 1 then\n    return hpo.retry { micro_batch = plan.micro_batch // 2 }\n  end\n";
    std::string text = "local hpo = require \"hpo\"\n";
    if (in_vain)
        text += "\n-- It does not wait for other processes: of " + std::to_string(waits.retries) + " retries that waited, " +
                std::to_string(waits.retries - waits.helped) + " failed again.\n";
    std::string refusals;
    for (const OomRegion& region : regions) {
        const std::string share = std::to_string(region.oom) + " of " + std::to_string(region.trials) + " trials ran out of memory with " +
                                  describe(region.region);
        if (region.recovered > 0) {
            text += "\n-- " + detail::one_line(share) + ";\n-- " + std::to_string(region.recovered) +
                    " of them ran in a later attempt, so nothing needs to be refused" +
                    (retries.empty() ? ".\n" : ": on_oom keeps them.\n");
            continue;
        }
        if (!region.best.empty()) {
            text += "\n-- " + detail::one_line(share) + ".\n-- " + detail::best_trials_text(region.best) +
                    " there, so it is not refused as a whole.\n";
            continue;
        }
        std::string conditions;
        for (const Condition& condition : region.region) {
            conditions += (conditions.empty() ? "      " : "\n      and ") + detail::lua_condition(condition);
        }
        refusals += "  trial:require(not (\n" + conditions + "),\n    " + detail::lua_quote(share) + ")\n";
    }
    if (!refusals.empty()) {
        text +=
            "\n-- Call at the end of space(trial).\nlocal function require_fits(trial)\n  local p = trial.params\n" + refusals + "end\n";
    }
    if (refusals.empty() && retries.empty() && regions.empty()) return {};
    if (!retries.empty())
        text += "\n-- Give to hpo.study { on_oom = ... }.\nlocal function on_oom(trial, failure, plan)\n" + retries + "end\n";
    std::string returned;
    if (!refusals.empty()) returned += "require_fits = require_fits";
    if (!retries.empty()) returned += (returned.empty() ? "on_oom = on_oom" : ", on_oom = on_oom");
    return text + (returned.empty() ? "\nreturn {}\n" : "\nreturn { " + returned + " }\n");
}

}  // namespace hpo::analysis
