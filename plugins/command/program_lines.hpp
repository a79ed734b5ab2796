// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/outcome.hpp"

namespace hpo::command {

/// What one line of a program says. A line may say several things.
struct ProgramLine {
    std::optional<hpo::Report> report;                        ///< {"step": 1, "value": 0.3}
    std::vector<double> values;                               ///< {"value": 0.2} or {"values": [0.2, 3]}
    hpo::Attributes attributes;                               ///< {"attr": {"name": ...}}
    std::vector<std::pair<std::string, double>> constraints;  ///< {"constraint": {"name": 0.1}}; above 0 is a violation
    std::optional<hpo::MemoryReading> memory;                 ///< {"memory": {"allocated": 1024, "reserved": 2048}}, in bytes
    /// {"suggest": {"name": "lr", "distribution": {...}}}: it waits for {"value": ...} or {"error": "..."}
    struct Question {
        std::string name;
        std::string distribution;  ///< JSON as Optuna writes it
    };
    std::optional<Question> suggest;
    bool pruned = false;        ///< {"pruned": true}: it ends as not worth finishing
    std::string prune_reason;   ///< {"pruned": true, "reason": "..."}
    bool wants_answer = false;  ///< {"answer": true}: it waits for {"prune": ...}
};

/// A program says this on standard output before a line. Without it, a line on standard output is only logged.
inline constexpr std::string_view line_mark = "@hpo ";

/// Reads a JSON object of at most 64 levels. Python's NaN and Infinity are numbers. Throws hpo::Error that says in one line what is wrong.
[[nodiscard]] ProgramLine parse_program_line(std::string_view line);

}  // namespace hpo::command
