// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/core/error.hpp"
#include "hpo/core/utf8.hpp"

namespace hpo::text {

/// A file's bytes. Throws Error naming the file when it cannot be read.
[[nodiscard]] inline std::string read_bytes(const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file)) throw Error{Errc::bad_value, file.string() + ": no such file"};
    std::ifstream stream{file, std::ios::binary};
    if (!stream) throw Error{Errc::bad_value, file.string() + ": cannot be opened"};
    return {std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
}

/// A file's text. Throws Error naming the file when it cannot be read or is not UTF-8.
[[nodiscard]] inline std::string read_text_file(const std::filesystem::path& file) {
    std::string text = read_bytes(file);
    if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        throw Error{Errc::bad_value, file.string() + ":" + std::to_string(line) + ": not UTF-8"};
    }
    return text;
}

/// A value as a message shows it: JSON in ASCII, some 60 bytes at most.
[[nodiscard]] inline std::string shown_json(const nlohmann::json& value) {
    constexpr std::size_t most_bytes = 60;
    const std::string text = value.dump(-1, ' ', true);
    return text.size() <= most_bytes ? text : text.substr(0, most_bytes) + "...";
}

/// A JSON file that is an object. Throws Error naming the file.
[[nodiscard]] inline nlohmann::json read_json_file(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object()) throw Error{Errc::bad_value, file.string() + ": expected a JSON object"};
    return document;
}

}  // namespace hpo::text
