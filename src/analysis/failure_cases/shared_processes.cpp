// SPDX-License-Identifier: MIT
#include "analysis/failure_cases/shared_processes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hpo::analysis::detail {

namespace {

[[nodiscard]] std::optional<std::string> process_of(const Attempt& attempt) {
    if (attempt.worker_pid <= 0) return std::nullopt;
    return attempt.device_name + " process " + std::to_string(attempt.worker_pid);
}

}  // namespace

SharedProcesses::SharedProcesses(std::span<const Trial> trials) {
    constexpr std::int64_t longest_pause_us = 500'000;
    std::vector<const Trial*> in_order;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            const auto process = process_of(attempt);
            const auto started = attempt.started ? attempt.started : trial.started;  // what ran well may be read in brief
            if (!process || !started) continue;
            First& first = first_.try_emplace(*process, First{&attempt, *started}).first->second;
            if (*started < first.started) first = {&attempt, *started};
        }
        if (trial.attempts.empty() && trial.started && trial.completed) in_order.push_back(&trial);
    }
    std::ranges::stable_sort(in_order, {}, [](const Trial* trial) { return *trial->started; });
    std::size_t run = 0;
    const Trial* previous = nullptr;
    for (const Trial* trial : in_order) {
        const std::int64_t pause =
            previous ? microseconds_since_epoch(*trial->started) - microseconds_since_epoch(*previous->completed) : -1;
        if (pause < 0 || pause > longest_pause_us) ++run;
        run_of_[trial] = std::to_string(run);
        previous = trial;
    }
}

std::optional<std::string> SharedProcesses::of(const Trial& trial, const Attempt* attempt) const {
    if (attempt) return process_of(*attempt);
    const auto run = run_of_.find(&trial);
    return run == run_of_.end() ? std::nullopt : std::optional{run->second};
}

bool SharedProcesses::began(const Attempt& attempt) const {
    const auto process = process_of(attempt);
    const auto first = process ? first_.find(*process) : first_.end();
    return first != first_.end() && first->second.attempt == &attempt;
}

}  // namespace hpo::analysis::detail
