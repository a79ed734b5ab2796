// SPDX-License-Identifier: MIT
#include "hpo/dataset/split.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"

namespace hpo::dataset {

double TextLottery::draw(const Digest& text) const {
    const Digest drawn = Sha256{}.add(purpose).add(" ").add(std::to_string(seed)).add("\n").add(text).finish();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | drawn[i];
    return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

Split split_by_text(const TextTable& table, const SplitRule& rule) {
    if (!(rule.test >= 0) || !(rule.validation >= 0) || !(rule.test + rule.validation < 1)) {
        throw bad_value("shares of test and validation texts", number_text(rule.test) + " and " + number_text(rule.validation),
                        "shares from 0 that are together less than 1");
    }
    const TextLottery lottery{"split", rule.seed};
    Split split;
    for (std::int64_t row = 0; row < table.rows(); ++row) {
        const double drawn = lottery.draw(table.digest(row));
        auto& part = drawn < rule.test ? split.test : drawn < rule.test + rule.validation ? split.validation : split.train;
        part.push_back(row);
    }
    return split;
}

std::vector<std::int64_t> subset(const TextTable& table, std::span<const std::int64_t> rows, const SubsetRule& rule) {
    if (rule.examples == 0) return {rows.begin(), rows.end()};
    if (rule.examples < 0 || rule.examples > static_cast<std::int64_t>(rows.size())) {
        throw bad_value(table.name() + ": " + std::string{rule.name}, std::to_string(rule.examples),
                        "0 for all, or at most the " + std::to_string(rows.size()) + " that are there");
    }
    const TextLottery lottery{"subset", rule.seed};
    std::vector<std::pair<double, std::int64_t>> drawn;
    drawn.reserve(rows.size());
    for (const std::int64_t row : rows) drawn.emplace_back(lottery.draw(table.digest(row)), row);
    std::sort(drawn.begin(), drawn.end());
    std::vector<std::int64_t> chosen;
    for (std::int64_t i = 0; i < rule.examples; ++i) chosen.push_back(drawn[static_cast<std::size_t>(i)].second);
    return chosen;
}

}  // namespace hpo::dataset
