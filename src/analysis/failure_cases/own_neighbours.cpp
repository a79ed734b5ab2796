// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/own_neighbours.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "hpo/analysis/failure_cases/attribute_value.hpp"

namespace hpo::analysis::detail {

/// The attribute's text, or its JSON if it is none.
[[nodiscard]] std::string text_of(const Trial& trial, std::string_view name) {
    const std::string_view json = attribute_json(trial.user_attributes, name);
    return json_string(json).value_or(std::string{json});
}

/// The process number that another program kept with a trial: `pid` 5000, `worker` "node1:5000".
[[nodiscard]] std::optional<std::int64_t> process_number(const Trial& trial) {
    for (const std::string_view name : {"pid", "process_id", "worker_pid", "process", "worker", "worker_id"}) {
        const std::string text = text_of(trial, name);
        const auto last = text.find_last_not_of("0123456789");
        const std::string_view digits = std::string_view{text}.substr(last == std::string::npos ? 0 : last + 1);
        std::int64_t number = 0;
        if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc{} && number > 0) return number;
    }
    return std::nullopt;
}

/// The host that another program kept with a trial; empty if it kept none.
[[nodiscard]] std::string host_of(const Trial& trial) {
    for (const std::string_view name : {"hostname", "host"}) {
        if (std::string text = text_of(trial, name); !text.empty()) return text;
    }
    for (const std::string_view name : {"worker", "worker_id"}) {
        const std::string text = text_of(trial, name);
        if (const auto colon = text.find(':'); colon != std::string::npos) return text.substr(0, colon);
    }
    return {};
}

/// The time at which a trial failed: its end, or the start if it has none.
[[nodiscard]] std::optional<Time> end_of(const Trial& trial) { return trial.completed ? trial.completed : trial.started; }

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

OwnNeighbours::OwnNeighbours(std::span<const Trial> trials) : trials_{trials} {
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (attempt.worker_pid > 0) by_process_[attempt.worker_pid].push_back(&trial);
        }
        if (!trial.attempts.empty()) continue;
        if (const auto number = detail::process_number(trial)) by_process_[*number].push_back(&trial);
    }
}

NeighbourTrials OwnNeighbours::of(const FailureCase& entry) const {
    NeighbourTrials found;
    if (entry.failure.cause != OomCause::neighbour || entry.failure.memory.neighbours.empty()) return found;
    if (by_process_.empty()) {
        found.numbers = running_at_end_of(*entry.trial);
        found.guessed = true;
        return found;
    }
    const auto end = detail::end_of(*entry.trial);
    const std::string host = detail::host_of(*entry.trial);
    for (const MemoryNeighbour& neighbour : entry.failure.memory.neighbours) {
        const auto process = by_process_.find(neighbour.pid);
        if (process == by_process_.end()) return {};
        const Trial* last = nullptr;
        for (const Trial* trial : process->second) {
            const std::string other = detail::host_of(*trial);
            const bool fits = trial != entry.trial && (host.empty() || other.empty() || host == other) &&
                              (!end || !trial->started || *trial->started <= *end);
            if (fits && (!last || !last->started || (trial->started && *trial->started >= *last->started))) last = trial;
        }
        if (!last) return {};
        found.numbers.push_back(last->number);
    }
    std::ranges::sort(found.numbers);
    const auto repeated = std::ranges::unique(found.numbers);
    found.numbers.erase(repeated.begin(), repeated.end());
    return found;
}

std::vector<std::int64_t> OwnNeighbours::running_at_end_of(const Trial& failed) const {
    std::vector<std::int64_t> numbers;
    const auto end = detail::end_of(failed);
    if (!end) return numbers;
    for (const Trial& trial : trials_) {
        if (&trial == &failed || !trial.started || *trial.started > *end || trial.state == TrialState::waiting) continue;
        const bool went_on = trial.completed ? *trial.completed >= *end : false;  // a trial that never ended may be gone
        if (went_on) numbers.push_back(trial.number);
    }
    return numbers;
}

}  // namespace hpo::analysis
