// SPDX-License-Identifier: MIT
#include "hpo/allocator/conf.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::allocator {

LibTorchVersion require_modelled_version(std::string_view place, std::string_view text) {
    const auto version = parse_libtorch_version(text);
    std::vector<std::string> known;
    for (const LibTorchVersion& each : modelled_libtorch_versions) {
        if (version == each) return each;
        known.push_back(to_text(each));
    }
    throw bad_value(place, "'" + std::string{text} + "'", "one of " + join_names(known));
}

AllocatorSettings AllocatorConfReader::read(std::string_view text) {
    settings_ = {};
    settings_.version = version_;
    std::vector<std::pair<const AllocatorOption*, std::string>> options;
    for (const std::string& option : items(text)) {
        const std::size_t colon = option.find(':');
        const std::string name = option.substr(0, colon);
        const AllocatorOption& known = find(name);
        if (colon == std::string::npos || colon + 1 == option.size()) throw bad_value(at(name), "no value", "NAME:VALUE");
        options.emplace_back(&known, option.substr(colon + 1));
    }
    // The size of large segments limits two other options, so it is read first, wherever it stands.
    for (const auto& [option, value] : options) {
        if (option->name == "large_segment_size_mb") settings_.large_segment_bytes = mebibytes(option->name, value, 11);
    }
    settings_.max_non_split_rounding_bytes = settings_.large_segment_bytes;
    for (const auto& [option, value] : options) {
        if (option->effect == AllocatorOption::Effect::modelled) set(option->name, value);
    }
    return settings_;
}

std::vector<std::string> AllocatorConfReader::items(std::string_view text) {
    std::vector<std::string> items(1);
    bool inside = false;
    for (const char c : text) {
        if (c == '[' || c == ']') inside = c == '[';
        if (c == ',' && !inside) items.emplace_back();
        else if (c != ' ' && c != '\t' && c != '\n') items.back() += c;
    }
    std::erase(items, "");
    return items;
}

const AllocatorOption& AllocatorConfReader::find(const std::string& name) const {
    const auto found =
        std::find_if(allocator_options.begin(), allocator_options.end(), [&](const auto& each) { return each.name == name; });
    if (found != allocator_options.end() && found->known_to(version_)) return *found;
    const std::string libtorch = "LibTorch " + to_text(version_);
    if (found != allocator_options.end()) {
        const LibTorchVersion edge = version_ < found->since ? found->since : found->before;
        throw Error{Errc::bad_value, at(name) + ": " + libtorch + " does not know this option; it " +
                                         (version_ < found->since ? "was added in " : "was removed in ") + to_text(edge)};
    }
    std::vector<std::string> known;
    for (const AllocatorOption& option : allocator_options) {
        if (option.known_to(version_)) known.emplace_back(option.name);
    }
    throw unknown_name(place_, "option of " + libtorch + "'s allocator", name, known);
}

void AllocatorConfReader::set(std::string_view name, const std::string& value) {
    const std::int64_t least_mib = settings_.large_segment_bytes >> 20;
    if (name == "max_split_size_mb")
        settings_.max_split_bytes = mebibytes(name, value, version_ < LibTorchVersion{2, 6} ? least_mib + 1 : least_mib);
    else if (name == "max_non_split_rounding_mb") settings_.max_non_split_rounding_bytes = mebibytes(name, value, least_mib);
    else if (name == "roundup_bypass_threshold_mb") settings_.roundup_bypass_bytes = mebibytes(name, value, 0);
    else if (name == "garbage_collection_threshold") settings_.garbage_collection_threshold = share(name, value);
    else if (name == "per_process_memory_fraction") settings_.memory_fraction = value == "1" || value == "1.0" ? 1.0 : share(name, value);
    else if (name == "roundup_power2_divisions") set_divisions(name, value);
    else if (name == "expandable_segments") {
        if (value != "True" && value != "False") throw bad_value(at(name), "'" + value + "'", "True or False");
        settings_.expandable_segments = value == "True";
    } else if (name == "backend" && value != "native") {
        throw bad_value(at(name), "'" + value + "'", "native, the one whose memory can be predicted");
    }
}

void AllocatorConfReader::set_divisions(std::string_view name, const std::string& value) {
    auto& divisions = settings_.power2_divisions;
    if (value.front() != '[') return divisions.fill(power_of_two(name, value, version_ < LibTorchVersion{2, 0} ? 2 : 1));
    if (version_ < LibTorchVersion{2, 0}) throw bad_value(at(name), "'" + value + "'", "one power of two before LibTorch 2.0");
    if (value.back() != ']') throw bad_value(at(name), "'" + value + "'", "a list that ends in ]");
    std::size_t last = 0;
    bool first = true;
    for (const std::string& each : items(std::string_view{value}.substr(1, value.size() - 2))) {
        const std::size_t colon = each.find(':');
        if (colon == std::string::npos) throw bad_value(at(name), "'" + each + "'", "MIB:DIVISIONS, or >:DIVISIONS for the rest");
        const std::string from = each.substr(0, colon);
        const std::uint32_t count = each.substr(colon + 1) == "0" ? 0 : power_of_two(name, each.substr(colon + 1), 1);
        if (from == ">") {  // before 2.9 the rest included the last size that was named
            const std::size_t rest = version_ < LibTorchVersion{2, 9} ? last : last + 1;
            std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(std::min(rest, divisions.size())), divisions.end(), count);
            continue;
        }
        last = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(power_of_two(name, from, 1))) - 1, divisions.size() - 1);
        if (first) std::fill(divisions.begin(), divisions.begin() + static_cast<std::ptrdiff_t>(last), count);
        first = false;
        divisions[last] = count;
    }
}

template <class Number>
std::optional<Number> AllocatorConfReader::number(std::string_view text) {
    Number number{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::int64_t AllocatorConfReader::mebibytes(std::string_view name, const std::string& value, std::int64_t least) const {
    const auto count = number<std::int64_t>(value);
    if (!count || *count < least) throw bad_value(at(name), "'" + value + "'", "a number of MiB from " + std::to_string(least) + " on");
    return std::min(*count, std::numeric_limits<std::int64_t>::max() >> 20) << 20;
}

std::uint32_t AllocatorConfReader::power_of_two(std::string_view name, const std::string& value, std::uint32_t least) const {
    const auto count = number<std::uint32_t>(value);
    if (!count || !std::has_single_bit(*count) || *count < least)
        throw bad_value(at(name), "'" + value + "'", "a power of two from " + std::to_string(least) + " on");
    return *count;
}

double AllocatorConfReader::share(std::string_view name, const std::string& value) const {
    const auto share = number<double>(value);
    if (!share || !(*share > 0 && *share < 1)) throw bad_value(at(name), "'" + value + "'", "a share above 0 and below 1");
    return *share;
}

}  // namespace hpo::allocator
