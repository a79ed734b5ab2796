// SPDX-License-Identifier: MIT
#include "kept_recording.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "hpo/allocator/trace_file.hpp"
#include "hpo/base/error.hpp"

namespace hpo::command {
namespace {

using Json = nlohmann::json;

std::string hex_of(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += digits[value >> 4U];
        text += digits[value & 15U];
    }
    return text;
}

/// Bytes up to the first that is no pair of digits.
std::string bytes_of(std::string_view hex) {
    std::string bytes;
    bytes.reserve(hex.size() / 2);
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        unsigned value = 0;
        const auto read = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
        if (read.ec != std::errc{} || read.ptr != hex.data() + i + 2) break;
        bytes += static_cast<char>(value);
    }
    return bytes;
}

}  // namespace

std::string text_of(const ProgramRecording& recording) {
    const Json error = recording.error ? Json(*recording.error) : Json(nullptr);
    return Json{{"series", recording.series},
                {"numbers", recording.numbers},
                {"torch", recording.torch},
                {"conf", recording.conf},
                {"beside_bytes", recording.beside_bytes},
                {"notes", recording.notes},
                {"error", error},
                {"trace", hex_of(hpo::allocator::encode_trace(recording.trace))}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ProgramRecording> recording_of(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        ProgramRecording recording;
        json.at("series").get_to(recording.series);
        json.at("numbers").get_to(recording.numbers);
        json.at("torch").get_to(recording.torch);
        json.at("conf").get_to(recording.conf);
        json.at("beside_bytes").get_to(recording.beside_bytes);
        json.at("notes").get_to(recording.notes);
        if (const Json& error = json.at("error"); !error.is_null()) recording.error = error.get<double>();
        const std::string bytes = bytes_of(json.at("trace").get<std::string>());
        recording.trace = hpo::allocator::decode_trace({bytes, "a kept recording"});
        return recording;
    } catch (const Json::exception&) {
        return std::nullopt;
    } catch (const hpo::Error&) {
        return std::nullopt;
    }
}

}  // namespace hpo::command
