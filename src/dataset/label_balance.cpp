// SPDX-License-Identifier: MIT
#include "hpo/dataset/label_balance.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/dataset/shown_names.hpp"

namespace hpo::dataset {

std::int64_t LabelBalance::examples() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    return sum;
}

double LabelBalance::entropy_bits() const {
    const auto all = static_cast<double>(examples());
    double bits = 0;
    for (const std::int64_t count : counts) {
        const double share = static_cast<double>(count) / all;
        if (count > 0) bits -= share * std::log2(share);
    }
    return bits;
}

LabelBalance label_balance(std::span<const std::int64_t> labels, std::int64_t classes) {
    LabelBalance balance{std::vector<std::int64_t>(static_cast<std::size_t>(classes))};
    for (const std::int64_t label : labels) ++balance.counts[static_cast<std::size_t>(label)];
    return balance;
}

std::string balance_text(const LabelBalance& balance, const LabelTable& labels) {
    const auto rounded = [](double value, int decimals) {
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
        return std::string{buffer.data(), end.ptr};
    };
    const auto described = [&](std::int64_t of) {
        const auto at = static_cast<std::size_t>(of);
        return "'" + shown(labels.names()[at]) + "' " + std::to_string(balance.counts[at]);
    };
    const std::string share = " (" + rounded(100 * balance.largest_share(), 1) + " %)";
    const std::string extremes = balance.largest() == balance.smallest()
                                     ? std::to_string(balance.counts.front()) + share + " of each"
                                     : "most " + described(balance.largest()) + share + ", fewest " + described(balance.smallest());
    std::string text = std::to_string(balance.examples()) + " texts of " + std::to_string(labels.size()) + " classes; " + extremes +
                       "; entropy " + rounded(balance.entropy_bits(), 2) + " of " +
                       rounded(std::log2(static_cast<double>(labels.size())), 2) + " bits";
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < balance.counts.size(); ++i) {
        if (balance.counts[i] == 0) missing.push_back("'" + shown(labels.names()[i]) + "'");
    }
    return missing.empty() ? text : text + "; none of " + join_names(first_names(missing));
}

}  // namespace hpo::dataset
