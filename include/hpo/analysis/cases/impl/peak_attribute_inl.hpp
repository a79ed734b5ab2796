// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/analysis/cases/attribute_value.hpp"
#include "hpo/analysis/cases/peak_attribute.hpp"
#include "hpo/analysis/demand/name_words.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::analysis::detail {

/// Bytes of the unit that a name ends in; 0: it has none. The unit is taken off.
[[nodiscard]] HPO_INLINE double take_unit(std::vector<std::string>& words) {
    static constexpr auto units = std::to_array<std::pair<std::string_view, double>>(
        {{"byte", 1.0}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"kib", 0x1.0p10}, {"mib", 0x1.0p20}, {"gib", 0x1.0p30}});
    for (const auto& [name, bytes] : units) {
        if (words.empty() || words.back() != name) continue;
        words.pop_back();
        return bytes;
    }
    return 0;
}

/// True for the words of a peak of device memory: peak memory, max memory allocated, gpu mem, vram.
[[nodiscard]] HPO_INLINE bool names_peak(const std::vector<std::string>& words) {
    static constexpr auto memories = std::to_array<std::string_view>({"memory", "mem", "vram"});
    static constexpr auto highest = std::to_array<std::string_view>({"peak", "max", "maximum", "highest"});
    static constexpr auto devices = std::to_array<std::string_view>({"gpu", "cuda", "device", "vram", "torch"});
    static constexpr auto besides = std::to_array<std::string_view>({"allocated", "reserved", "used", "usage", "use"});
    bool memory = false;
    bool of_device = false;
    for (const std::string& word : words) {
        const auto is = [&](auto& list) { return std::ranges::find(list, word) != list.end(); };
        if (!is(memories) && !is(highest) && !is(devices) && !is(besides)) return false;
        memory = memory || is(memories);
        of_device = of_device || is(highest) || is(devices);
    }
    return memory && of_device;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis::inline cases {

HPO_INLINE std::optional<std::int64_t> peak_attribute(const Attributes& attributes) {
    constexpr double least = 0x1.0p20;
    constexpr double most = 1e15;
    std::optional<std::int64_t> peak;
    for (const auto& [name, json] : attributes) {
        std::vector<std::string> words = words_of(name);
        const double unit = detail::take_unit(words);
        if (!detail::names_peak(words)) continue;
        const auto number = json_number(json);
        if (!number) continue;
        const double bytes = *number * (unit > 0 ? unit : 1);
        if (!(bytes >= (unit > 0 ? 0 : least)) || bytes >= most) continue;
        peak = std::max(peak.value_or(0), static_cast<std::int64_t>(bytes));
    }
    return peak;
}

}  // namespace hpo::analysis::cases
