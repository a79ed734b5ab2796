// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/failure_cases/attribute_value.hpp"
#include "hpo/failure/python_error.hpp"

namespace hpo::analysis {

/// Calls `visit(path, text)` for each text in a JSON value, at any depth, in the document's order. `path` is "error.frames[2]" or the like,
/// and empty if the value is itself a text. Names of members are not texts.
///
/// If a list holds a traceback, the rest of the list from its heading on is one text, since Python's format_exception returns a list of
/// lines. Paths end with "..." after 32 steps. The walk ends where the text stops being JSON. Takes linear time.
template <class Visit>
void each_json_text(std::string_view json, Visit&& visit) {
    struct Level {
        bool object = false;
        bool expects_name = false;
        std::size_t index = 0;
        std::string_view name{};  ///< name of the current member, as it is written
    };
    std::vector<Level> levels;
    const auto path = [&] {
        std::string text;
        for (const Level& level : levels) {
            if (&level - levels.data() == 32) return text + "...";
            if (!level.object) text += '[' + std::to_string(level.index) + ']';
            else text += (text.empty() ? "" : ".") + json_string(level.name).value_or(std::string{level.name});
        }
        return text;
    };
    const auto literal_at = [&](std::size_t i) -> std::string_view {  // empty if it does not end
        std::size_t end = i + 1;
        while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
        return end < json.size() ? json.substr(i, end + 1 - i) : std::string_view{};
    };
    const auto skip_space = [&](std::size_t i) { return std::min(json.find_first_not_of(" \t\r\n", i), json.size()); };
    // Appends the texts that follow in a list to the text before them, which ends at `i`. Returns the end of the last.
    const auto append_lines = [&](std::string& lines, std::size_t i, std::size_t& index) {
        for (;;) {
            const std::size_t comma = skip_space(i + 1);
            if (comma >= json.size() || json[comma] != ',') return i;
            const std::size_t next = skip_space(comma + 1);
            if (next >= json.size() || json[next] != '"') return i;
            const std::string_view literal = literal_at(next);
            const auto line = literal.empty() ? std::nullopt : json_string(literal);
            if (!line) return i;
            if (!lines.ends_with('\n')) lines += '\n';
            lines += *line;
            i = next + literal.size() - 1;
            ++index;
        }
    };
    for (std::size_t i = 0; i < json.size(); ++i) {
        switch (json[i]) {
            case '{': levels.push_back({.object = true, .expects_name = true}); break;
            case '[': levels.push_back({}); break;
            case '}':
            case ']':
                if (levels.empty() || levels.back().object != (json[i] == '}')) return;
                levels.pop_back();
                break;
            case ',':
                if (levels.empty()) return;
                if (levels.back().object) levels.back().expects_name = true;
                else ++levels.back().index;
                break;
            case '"': {
                const std::string_view literal = literal_at(i);
                if (literal.empty()) return;
                i += literal.size() - 1;
                if (!levels.empty() && levels.back().expects_name) {
                    levels.back().name = literal;
                    levels.back().expects_name = false;
                } else if (auto text = json_string(literal)) {
                    const std::string where = path();
                    if (!levels.empty() && !levels.back().object && text->find(traceback_heading) != std::string::npos)
                        i = append_lines(*text, i, levels.back().index);
                    visit(where, *text);
                }
                break;
            }
            default: break;  // numbers, words, colons and space
        }
    }
}

}  // namespace hpo::analysis
