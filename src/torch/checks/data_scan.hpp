// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::libtorch {

/// Reads the examples of a task once, in host memory and outside the meter, and finds what a person should know of them: rare and missing
/// classes, examples that occur twice, held-out examples that are trained on.
///
/// Labels and ids are checked in every example. What else is looked at ends after scan_seconds or most_compared examples, and a remark says
/// what was left out.
class DataScan {
public:
    static constexpr double scan_seconds = 10;
    static constexpr std::size_t most_compared = 1'000'000;

    /// `stop` is asked before each batch. If it returns true, the scan ends there.
    DataScan(const Task& task, std::function<bool()> stop) : task_{task}, stop_{std::move(stop)} {}

    /// Returns one line for each thing. Throws BadBatch for the first example that breaks the task's rules.
    [[nodiscard]] std::vector<std::string> read();

private:
    struct Part {
        std::string_view name;
        std::int64_t examples = 0;
        bool held_out = false;
        std::vector<std::int64_t> class_counts{};
        std::int64_t compared = 0;     ///< examples that were held against all others
        std::int64_t seen = 0;         ///< examples whose inputs were looked at
        std::int64_t repeats = 0;      ///< of an earlier example of the same part
        std::int64_t trained_on = 0;   ///< held-out examples that are training examples, too
        std::int64_t other_label = 0;  ///< of both, those with another label
        std::string first{};           ///< the first of them, in words
    };
    struct First {
        std::int64_t example;
        bool held_out;
        std::int64_t label;
    };

    void read(Part& part);
    [[nodiscard]] Batch batch_of(std::span<const std::int64_t> examples, bool held_out) const;
    /// Holds the rows of a batch against all earlier examples.
    void compare(Part& part, const Batch& batch, std::span<const std::int64_t> examples);
    [[nodiscard]] bool same_inputs(const First& earlier, std::int64_t example, bool held_out) const;
    [[nodiscard]] std::string summary_of(const Part& part) const;
    void tell_classes(const Part& part, std::vector<std::string>& lines) const;

    const Task& task_;
    std::function<bool()> stop_;
    Stopwatch watch_;
    std::unordered_map<std::size_t, First> firsts_;  ///< by a hash of the inputs
};

}  // namespace hpo::libtorch
