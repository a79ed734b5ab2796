// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/param_set.hpp"

namespace hpo::tests {

/// One run of a real program, and the peak of its memory.
struct RecordedRun {
    ParamSet params;
    double bytes = 0;
};

/// The real programs whose runs are in tests/data/program_peaks.
inline constexpr std::string_view recorded_programs[] = {"networks", "kernel_ridge", "language_model"};

/// The runs of one of them. Texts, and whole numbers of few values, are choices; other whole numbers a range; real ones a range of their
/// logarithm.
[[nodiscard]] inline std::vector<RecordedRun> recorded_runs(std::string_view program) {
    constexpr const char* peak = "hwm_kb";
    constexpr std::size_t most_choices = 8;
    std::vector<nlohmann::json> lines;
    const std::string path = HPO_SOURCE_DIR "/tests/data/program_peaks/" + std::string{program} + ".jsonl";
    std::ifstream file{path};
    if (!file) throw Error{Errc::usage, path + ": cannot be opened"};
    for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    const auto value_of = [](const nlohmann::json& json) {
        return json.is_string()           ? Value{json.get<std::string>()}
               : json.is_number_integer() ? Value{json.get<std::int64_t>()}
                                          : Value{json.get<double>()};
    };
    std::map<std::string, std::vector<Value>> seen;
    for (const auto& line : lines) {
        for (const auto& [name, json] : line.items()) {
            auto& values = seen[name];
            if (const Value value = value_of(json); std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
        }
    }
    std::vector<RecordedRun> runs;
    for (const auto& line : lines) {
        RecordedRun& run = runs.emplace_back();
        run.bytes = line.at(peak).get<double>() * 1024;
        for (const auto& [name, values] : seen) {
            if (name == peak) continue;
            const auto& json = line.at(name);
            std::vector<double> numbers;
            for (const auto& each : lines) numbers.push_back(each.at(name).is_number() ? each.at(name).get<double>() : 0);
            const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
            if (json.is_string() || values.size() <= most_choices) {
                const auto at = std::find(values.begin(), values.end(), value_of(json)) - values.begin();
                run.params.set(name, CategoricalDistribution{values}, static_cast<double>(at));
            } else if (json.is_number_integer()) {
                const IntDistribution range{.low = static_cast<std::int64_t>(*low), .high = static_cast<std::int64_t>(*high)};
                run.params.set(name, range, json.get<double>());
            } else {
                run.params.set(name, FloatDistribution{.low = *low, .high = *high, .log = true}, json.get<double>());
            }
        }
    }
    return runs;
}

}  // namespace hpo::tests
