// SPDX-License-Identifier: MIT
#include "failure_words.hpp"

#include "support/text.hpp"

namespace hpo_analyze {

using hpo::tools::counted;

std::string failure_count(std::string_view name, std::size_t count) {
    return std::to_string(count) + (name == "no_message" ? " without a message" : " " + std::string{name});
}

std::string uncertain_text(const hpo::analysis::FailureTotals& totals) {
    std::string text;
    if (totals.silent_failures > 0) text = counted(totals.silent_failures, "trial") + " failed without a message";
    if (totals.unexplained_infinite > 0) {
        text += (text.empty() ? "" : ", and ") + counted(totals.unexplained_infinite, "trial") +
                " told an infinite value and nothing that says why";
    }
    return text;
}

}  // namespace hpo_analyze
