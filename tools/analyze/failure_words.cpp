// SPDX-License-Identifier: MIT
#include "failure_words.hpp"

namespace hpo_analyze {

std::string failure_count(std::string_view name, std::size_t count) {
    return std::to_string(count) + (name == "no_message" ? " without a message" : " " + std::string{name});
}

std::string uncertain_text(const hpo::analysis::FailureTotals& totals) {
    std::string text;
    if (totals.silent_failures > 0) text = std::to_string(totals.silent_failures) + " failed without a message";
    if (totals.unexplained_infinite > 0) {
        text += (text.empty() ? "" : " and ") + std::to_string(totals.unexplained_infinite) +
                " told an infinite value and nothing that says why";
    }
    return text;
}

}  // namespace hpo_analyze
