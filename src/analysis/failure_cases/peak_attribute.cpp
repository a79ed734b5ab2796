// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/peak_attribute.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/memory_need/name_words.hpp"
#include "hpo/analysis/failure_cases/attribute_value.hpp"
#include "hpo/failure/classify.hpp"

namespace hpo::analysis::detail {

/// Bytes of a unit in lower case; 0: it is none.
[[nodiscard]] double bytes_of_unit(std::string_view unit) {
    static constexpr auto units = std::to_array<std::pair<std::string_view, double>>({{"byte", 1.0},
                                                                                      {"bytes", 1.0},
                                                                                      {"b", 1.0},
                                                                                      {"kb", 1e3},
                                                                                      {"mb", 1e6},
                                                                                      {"gb", 1e9},
                                                                                      {"kib", 0x1.0p10},
                                                                                      {"mib", 0x1.0p20},
                                                                                      {"gib", 0x1.0p30}});
    const auto found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
    return found == units.end() ? 0 : found->second;
}

/// Bytes of the unit that a name ends in; 0: it has none. The unit is taken off.
[[nodiscard]] double take_unit(std::vector<std::string>& words) {
    const double bytes = words.empty() || words.back() == "b" ? 0 : bytes_of_unit(words.back());
    if (bytes > 0) words.pop_back();
    return bytes;
}

/// A number with its unit in a text, such as "3.0 GiB".
struct UnitNumber {
    double number = 0;
    double unit = 0;  ///< bytes; 0: none is given
};

/// Reads a JSON number, or a text of a number and a unit.
[[nodiscard]] std::optional<UnitNumber> number_with_unit(std::string_view json) {
    if (const auto number = json_number(json)) return UnitNumber{.number = *number};
    const auto text = json_string(json);
    if (!text) return std::nullopt;
    UnitNumber read;
    const auto [stop, status] = std::from_chars(text->data(), text->data() + text->size(), read.number);
    if (status != std::errc{}) return std::nullopt;
    std::string_view unit{stop, static_cast<std::size_t>(text->data() + text->size() - stop)};
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    read.unit = bytes_of_unit(hpo::detail::lower_case(unit));
    return read.unit > 0 ? std::optional{read} : std::nullopt;
}

/// What an attribute's words say of a peak of device memory.
enum class PeakWords {
    none,
    memory,  ///< memory, but not of what: mem, memory used
    peak,    ///< peak memory, max memory allocated, gpu mem, vram
};

[[nodiscard]] PeakWords peak_words(const std::vector<std::string>& words) {
    static constexpr auto memories = std::to_array<std::string_view>({"memory", "mem", "vram"});
    static constexpr auto highest = std::to_array<std::string_view>({"peak", "max", "maximum", "highest"});
    static constexpr auto devices = std::to_array<std::string_view>({"gpu", "cuda", "device", "vram", "torch"});
    static constexpr auto besides = std::to_array<std::string_view>({"allocated", "reserved", "used", "usage", "use"});
    bool memory = false;
    bool of_device = false;
    for (const std::string& word : words) {
        const auto is = [&](auto& list) { return std::ranges::find(list, word) != list.end(); };
        if (!is(memories) && !is(highest) && !is(devices) && !is(besides)) return PeakWords::none;
        memory = memory || is(memories);
        of_device = of_device || is(highest) || is(devices);
    }
    if (!memory) return PeakWords::none;
    return of_device ? PeakWords::peak : PeakWords::memory;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::optional<std::int64_t> peak_attribute(const Attributes& attributes) {
    constexpr double least = 0x1.0p20;
    constexpr double most = 1e15;
    std::optional<std::int64_t> peak;
    for (const auto& [name, json] : attributes) {
        std::vector<std::string> words = words_of(name);
        const double name_unit = detail::take_unit(words);
        if (detail::peak_words(words) != detail::PeakWords::peak) continue;
        const auto read = detail::number_with_unit(json);
        if (!read) continue;
        const double unit = read->unit > 0 ? read->unit : name_unit;  // the text's own unit is the nearer one
        const double bytes = read->number * (unit > 0 ? unit : 1);
        if (!(bytes >= (unit > 0 ? 0 : least)) || bytes >= most) continue;
        peak = std::max(peak.value_or(0), static_cast<std::int64_t>(bytes));
    }
    return peak;
}

std::set<std::string> unread_peaks(std::span<const Trial> trials) {
    std::set<std::string> names;
    for (const Trial& trial : trials) {
        for (const auto& [name, json] : trial.user_attributes) {
            std::vector<std::string> words = words_of(name);
            const double unit = detail::take_unit(words);
            const auto said = detail::peak_words(words);
            const auto read = said == detail::PeakWords::none ? std::nullopt : detail::number_with_unit(json);
            if (!read || read->number <= 0 || peak_attribute({{name, json}})) continue;
            const bool has_unit = unit > 0 || read->unit > 0;
            if (said == detail::PeakWords::peak || has_unit) names.insert(name);
        }
    }
    return names;
}

}  // namespace hpo::analysis
