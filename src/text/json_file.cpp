// SPDX-License-Identifier: MIT
#include "hpo/text/json_file.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/base/git_lfs.hpp"
#include "hpo/base/utf8.hpp"

namespace hpo::text {

std::string read_bytes(const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file)) throw Error{Errc::bad_value, file.string() + ": no such file"};
    std::ifstream stream{file, std::ios::binary};
    if (!stream) throw Error{Errc::bad_value, file.string() + ": cannot be opened"};
    std::string bytes{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
    if (is_git_lfs_pointer(bytes)) throw Error{Errc::bad_value, file.string() + ": " + std::string{git_lfs_advice}};
    return bytes;
}

std::string read_text_file(const std::filesystem::path& file) {
    std::string text = read_bytes(file);
    if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        throw Error{Errc::bad_value, file.string() + ":" + std::to_string(line) + ": not UTF-8"};
    }
    return text;
}

std::string shown_json(const nlohmann::json& value) {
    constexpr std::size_t most_bytes = 60;
    const std::string text = value.dump(-1, ' ', true);
    return text.size() <= most_bytes ? text : text.substr(0, most_bytes) + "...";
}

nlohmann::json read_json_file(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    const auto refusal = [&](const std::string& what) { return Error{Errc::bad_value, file.string() + ": " + what}; };
    if (text.empty()) throw refusal("empty; expected a JSON object");
    nlohmann::json document;
    try {
        document = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        const bool ended = error.byte > text.size();
        throw refusal((ended ? "cut short at byte " : "not JSON at byte ") + std::to_string(std::min(error.byte, text.size())) +
                      "; expected a JSON object");
    } catch (const nlohmann::json::exception&) {  // a number that fits no type
        throw refusal("a number out of range; expected a JSON object");
    }
    if (!document.is_object()) throw refusal("got a JSON " + std::string{document.type_name()} + "; expected an object");
    return document;
}

}  // namespace hpo::text
