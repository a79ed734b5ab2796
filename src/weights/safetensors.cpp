// SPDX-License-Identifier: MIT
#include "hpo/weights/safetensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/git_lfs.hpp"

namespace hpo::weights::detail {

nlohmann::json parse_strictly(std::string_view text, const std::string& place) {
    using nlohmann::json;
    std::vector<std::set<std::string, std::less<>>> keys(3);
    std::string outer;
    const auto refuse = [&](const std::string& what) { return Error{Errc::bad_value, place + ": '" + shown(outer) + "': " + what}; };
    const auto watch = [&](int depth, json::parse_event_t event, json& value) {
        const auto level = static_cast<std::size_t>(depth);
        const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
        if (opens && level > 2) throw refuse("nested deeper than expected");
        if (event == json::parse_event_t::object_start) keys[level].clear();
        if (event == json::parse_event_t::key) {
            const auto& key = value.get_ref<const std::string&>();
            if (level == 1) outer = key;
            if (!keys[level - 1].insert(key).second) throw refuse(level == 1 ? "stands there twice" : "has '" + shown(key) + "' twice");
        }
        return true;
    };
    try {
        return json::parse(text.begin(), text.end(), watch);
    } catch (const json::exception& error) {
        std::string reason = error.what();  // it quotes the text, so only printable characters are kept
        std::replace_if(
            reason.begin(), reason.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
        throw Error{Errc::bad_value, place + ": not JSON in UTF-8: " + reason};
    }
}

/// Every byte of the data must belong to exactly one tensor. Throws Error.
void check_cover(std::vector<Range> ranges, std::uint64_t data_bytes, const std::string& place) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
        return std::pair{a.begin, a.end} < std::pair{b.begin, b.end};
    });
    std::uint64_t reached = 0;
    std::string_view before;
    for (const Range& range : ranges) {
        const std::string who = place + ": " + tensor_text(range.name) + ": data_offsets begin at " + std::to_string(range.begin);
        if (range.begin < reached) throw Error{Errc::bad_value, who + " inside " + tensor_text(before)};
        if (range.begin > reached) {
            throw Error{Errc::bad_value, who + ", but the bytes from " + std::to_string(reached) + " on belong to no tensor"};
        }
        reached = range.end;
        before = range.name;
    }
    if (reached != data_bytes) {
        throw Error{Errc::bad_value, place + ": " + std::to_string(data_bytes - reached) + " bytes after the last tensor belong to none"};
    }
}

}  // namespace hpo::weights::detail

namespace hpo::weights {

SafetensorsContent read_safetensors(std::span<const std::byte> file, const std::string& place) {
    using nlohmann::json;
    constexpr std::size_t length_bytes = 8;
    const auto refuse = [&](const std::string& what) { return Error{Errc::bad_value, place + ": " + what}; };
    const std::string cut = "cut short: " + std::to_string(file.size()) + " bytes; expected ";
    if (file.size() < length_bytes) throw refuse(cut + "8 that tell the header's length");
    if (is_git_lfs_pointer({reinterpret_cast<const char*>(file.data()), file.size()})) throw refuse(std::string{git_lfs_advice});
    std::uint64_t header_bytes = 0;
    for (std::size_t i = length_bytes; i > 0; --i) header_bytes = header_bytes << 8 | std::to_integer<std::uint64_t>(file[i - 1]);
    if (header_bytes > largest_header_bytes) {
        throw refuse("a header of " + std::to_string(header_bytes) + " bytes; expected at most " + std::to_string(largest_header_bytes));
    }
    if (header_bytes > file.size() - length_bytes) throw refuse(cut + "a header of " + std::to_string(header_bytes));
    const std::span<const std::byte> data = file.subspan(length_bytes + header_bytes);
    const json header =
        detail::parse_strictly({reinterpret_cast<const char*>(file.data()) + length_bytes, header_bytes}, place + ": header");
    if (!header.is_object()) throw refuse("header: expected an object");

    SafetensorsContent content;
    std::vector<detail::Range> ranges;
    for (const auto& [name, fields] : header.items()) {
        if (name == "__metadata__") {
            if (!fields.is_object()) throw refuse("__metadata__: expected an object of texts");
            for (const auto& [key, value] : fields.items()) {
                if (!value.is_string()) throw refuse("__metadata__: '" + shown(key) + "': expected a text");
                content.metadata.emplace(key, value.get<std::string>());
            }
            continue;
        }
        const auto wrong = [&](const std::string& what) { return refuse(tensor_text(name) + ": " + what); };
        const auto whole_numbers = [&](const char* key) {
            const auto found = fields.find(key);
            if (found == fields.end() || !found->is_array()) throw wrong(std::string{key} + ": expected a list of numbers");
            std::vector<std::uint64_t> numbers;
            for (const json& number : *found) {
                if (!number.is_number_unsigned() || number.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
                    throw wrong(std::string{key} + ": " + number.dump(-1, ' ', true) + "; expected whole numbers from 0 to 2^63 - 1");
                }
                numbers.push_back(number.get<std::uint64_t>());
            }
            return numbers;
        };
        if (!fields.is_object()) throw wrong("expected an object with dtype, shape and data_offsets");
        const auto dtype_field = fields.find("dtype");
        if (dtype_field == fields.end() || !dtype_field->is_string()) throw wrong("dtype: expected a text");
        const auto dtype = find_dtype(dtype_field->get_ref<const std::string&>());
        if (!dtype) throw unknown_name(place + ": " + tensor_text(name), "dtype", shown(dtype_field->get<std::string>()), dtype_names());
        Tensor tensor{.dtype = *dtype};
        for (const std::uint64_t extent : whole_numbers("shape")) tensor.shape.push_back(static_cast<std::int64_t>(extent));
        const auto offsets = whole_numbers("data_offsets");
        if (offsets.size() != 2 || offsets[0] > offsets[1]) throw wrong("data_offsets: expected a begin and an end not before it");
        const std::string where = "data_offsets " + std::to_string(offsets[0]) + " to " + std::to_string(offsets[1]);
        if (offsets[1] > data.size()) throw wrong(where + " reach past the " + std::to_string(data.size()) + " bytes of data; cut short?");
        const auto needed = stored_bytes(tensor.dtype, tensor.shape);
        if (!needed || *needed != offsets[1] - offsets[0]) {
            throw wrong(where + " are " + std::to_string(offsets[1] - offsets[0]) + " bytes; " + std::string{entry(*dtype).name} +
                        " of shape " + shape_text(tensor.shape) +
                        (needed                              ? " takes " + std::to_string(*needed)
                         : stored_bits(*dtype, tensor.shape) ? std::string{" is no number of whole bytes"}
                                                             : std::string{" multiplies to 2^64 bits or more"}));
        }
        tensor.bytes = data.subspan(offsets[0], *needed);
        const auto [place_of, added] = content.tensors.emplace(name, std::move(tensor));
        ranges.push_back({offsets[0], offsets[1], place_of->first});
    }
    detail::check_cover(std::move(ranges), data.size(), place);
    return content;
}

}  // namespace hpo::weights
