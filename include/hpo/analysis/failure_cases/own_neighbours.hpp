// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis {

/// The trials of the same study whose processes held the memory that a trial lacked.
struct NeighbourTrials {
    std::vector<std::int64_t> numbers;  ///< in order; empty if another program held it, or if that is not known
    bool guessed = false;               ///< they ran at that time; whether they are the processes that the message names is not known
};

/// Finds them by the process numbers in out-of-memory messages. hpo's attempts have such numbers, and other programs often keep one in an
/// attribute: `pid`, `worker`. If no trial has one, the trials that ran at that time are a guess.
class OwnNeighbours {
public:
    explicit OwnNeighbours(std::span<const Trial> trials);

    /// The trials behind all processes that the message names. Of a process, it is the last one that had begun.
    [[nodiscard]] NeighbourTrials of(const FailureCase& entry) const;

private:
    [[nodiscard]] std::vector<std::int64_t> running_at_end_of(const Trial& failed) const;

    std::span<const Trial> trials_;
    std::map<std::int64_t, std::vector<const Trial*>> by_process_;
};

}  // namespace hpo::analysis
