// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/named_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace hpo::guard {

namespace detail {

/// Two digits are as much as a law knows.
std::string rough_bytes(double bytes) {
    static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < std::size(units)) {
        bytes /= 1024;
        ++unit;
    }
    if (bytes >= 99.5) bytes = 10 * std::round(bytes / 10);
    char text[40];
    std::snprintf(text, sizeof text, bytes >= 9.95 ? "%.0f %s" : bytes >= 0.095 ? "%.1f %s" : "%.2g %s", bytes, units[unit]);
    return text;
}

std::string power_text(const NamedLaw::Factor& factor) {
    const std::string name = factor.name.empty() ? "the micro-batch" : factor.name;
    return factor.power == 1 ? name : name + "^" + std::to_string(factor.power);
}

std::string each_text(const NamedLaw::Factor& factor) {
    const bool counts_examples = factor.name.empty() || factor.name.find("batch") != std::string::npos;
    return std::string{" for each "} + (counts_examples ? "example of " : "unit of ") + power_text(factor);
}

std::string part_text(const NamedLaw::Part& part) {
    // One factor grows, best the batch; the others are at their usual values.
    const auto is_batch = [](const NamedLaw::Factor& factor) {
        return factor.power == 1 && (factor.name.empty() || factor.name.find("batch") != std::string::npos);
    };
    auto each = std::ranges::find_if(part.factors, is_batch);
    if (each == part.factors.end()) each = std::ranges::find(part.factors, 1, &NamedLaw::Factor::power);
    double bytes = part.bytes;
    std::string others, product;
    for (auto factor = part.factors.begin(); factor != part.factors.end(); ++factor) {
        product += (product.empty() ? "" : " x ") + power_text(*factor);
        if (factor == each) continue;
        bytes *= std::pow(factor->usual, factor->power);
        const NamedLaw::Factor plain{.name = factor->name};
        others += (others.empty() ? " at " : " and ") + power_text(plain) + " = " + display_text(Value{factor->usual});
    }
    std::string text = rough_bytes(bytes);
    if (each != part.factors.end()) text += each_text(*each);
    text += others;
    if (!others.empty()) text += ", as " + product;
    for (std::size_t i = 0; i < part.conditions.size(); ++i) {
        const NamedLaw::Condition& condition = part.conditions[i];
        text += (i == 0 ? " if " : " and ") + (condition.name.empty() ? "the micro-batch" : condition.name) +
                (condition.above ? " > " : " = ") + display_text(condition.value);
    }
    return text;
}

std::string percent_text(double share) {
    const double percent = std::round(100 * share);
    return percent < 1 ? "below 1 %" : std::to_string(static_cast<long>(std::min(percent, 1e6))) + " %";
}

}  // namespace detail

std::string in_words(const NamedLaw& law) {
    const auto counted = [](std::size_t attempts) { return std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts"); };
    const std::string told = law.borrowed == 0   ? counted(law.attempts)
                             : law.attempts == 0 ? counted(law.borrowed) + " of other studies"
                                                 : counted(law.attempts) + " and " + std::to_string(law.borrowed) + " of other studies";
    const std::string from = "from " + told + (law.ran_out > 0 ? " and " + std::to_string(law.ran_out) + " that ran out of memory" : "");
    switch (law.kind) {
        case NamedLaw::Kind::too_few:
            return "not known yet: " + told + (law.attempts + law.borrowed == 1 ? " has" : " have") + " told a peak, and a law needs " +
                   std::to_string(NamedLaw::least_attempts);
        case NamedLaw::Kind::none:
            return "no law stands out (" + from + "; the best one's typical error is " + detail::percent_text(law.typical_error) + ")";
        case NamedLaw::Kind::constant:
        case NamedLaw::Kind::products: break;
    }
    std::string text;
    for (const NamedLaw::Part& part : law.parts) text += (text.empty() ? "roughly " : " + ") + detail::part_text(part);
    if (law.kind == NamedLaw::Kind::constant) text += ", whatever the parameters are";
    return text + " (" + from + "; typical error " + detail::percent_text(law.typical_error) + ")";
}

}  // namespace hpo::guard
