// SPDX-License-Identifier: MIT
#include "hpo/text/stored/model_files.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/text/json_file.hpp"
#include "text/code_point.hpp"
#include "text/unicode.hpp"

namespace hpo::text {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

Vocabulary read_vocabulary_lines(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    std::vector<std::string> tokens;
    for (const std::string_view line : lines_of(text)) {
        std::size_t end = 0;
        for (std::size_t at = 0; at < line.size();) {
            const CodePoint point = decode(line, at);
            at += point.bytes;
            if (!is_white_space(point.value)) end = at;
        }
        tokens.emplace_back(line.substr(0, end));
    }
    if (tokens.empty()) throw Error{Errc::bad_value, file.string() + ": is empty; expected one token a line"};
    return Vocabulary{std::move(tokens)};
}

Vocabulary vocabulary_of(const nlohmann::json& object, const std::string& place) {
    std::vector<std::string> tokens(object.size());
    std::vector<bool> taken(object.size());
    for (const auto& [token, id] : object.items()) {
        const auto refuse = [&](const std::string& what) {
            return bad_value(place + ": '" + shown(token) + "'", what, "the ids 0 to " + std::to_string(tokens.size() - 1) + ", each once");
        };
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size()) throw refuse(shown_json(id));
        const auto at = id.get<std::size_t>();
        if (taken[at]) throw refuse(shown_json(id) + " again");
        taken[at] = true;
        tokens[at] = token;
    }
    if (tokens.empty()) throw Error{Errc::bad_value, place + ": has no tokens"};
    return Vocabulary{std::move(tokens)};
}

std::vector<std::pair<std::string, std::string>> read_merges(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    std::vector<std::pair<std::string, std::string>> merges;
    std::size_t number = 0;
    for (std::string_view line : lines_of(text)) {
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.starts_with("#version")) continue;
        const std::size_t space = line.find(' ');
        if (std::count(line.begin(), line.end(), ' ') != 1 || space == 0 || space + 1 == line.size()) {
            throw bad_value(file.string() + ":" + std::to_string(number), "'" + shown(line) + "'", "two tokens with a space between them");
        }
        merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    return merges;
}

}  // namespace hpo::text
