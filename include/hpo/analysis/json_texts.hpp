// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/attribute_value.hpp"

namespace hpo::analysis {

/// Calls `visit(path, text)` for each text in a JSON value, however deep, in the order of the document: `path` is empty for a value that is
/// a text itself, else "error.frames[2]". Names of members are no texts. Paths end with "..." after 32 steps. Linear in the length; what is
/// no JSON ends the walk where it stops being any.
template <class Visit>
void each_json_text(std::string_view json, Visit&& visit) {
    struct Level {
        bool object = false;
        bool expects_name = false;
        std::size_t index = 0;
        std::string_view name{};  ///< of the current member, as it is written
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
                std::size_t end = i + 1;
                while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
                if (end >= json.size()) return;
                const std::string_view literal = json.substr(i, end + 1 - i);
                i = end;
                if (!levels.empty() && levels.back().expects_name) {
                    levels.back().name = literal;
                    levels.back().expects_name = false;
                } else if (const auto text = json_string(literal)) {
                    visit(path(), *text);
                }
                break;
            }
            default: break;  // numbers, words, colons and space
        }
    }
}

}  // namespace hpo::analysis
