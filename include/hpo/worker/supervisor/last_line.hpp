// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

namespace hpo::worker {

/// The last line of a process that answers one question. It says where the process was, or is its answer as JSON.
struct LastLine {
    std::string step = "before its plugin was looked at";
    std::string answer;

    explicit LastLine(const std::string& text) {
        for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
            std::string line = text.substr(begin, end - begin);
            (line.starts_with('{') ? answer : step) = std::move(line);
        }
    }
};

}  // namespace hpo::worker
