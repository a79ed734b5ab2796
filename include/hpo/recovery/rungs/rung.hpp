// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/core/history.hpp"
#include "hpo/recovery/concept.hpp"

namespace hpo::recovery {

/// One way to answer a failure, for a Ladder. `offer` returns nullopt if it cannot help with this failure, or has been tried often enough
/// in this trial. `name` is its word on a command line and in the post-mortem.
template <class R>
concept RecoveryRung = std::default_initializable<R> && requires(const R& rung, const FailedAttempt& failed) {
    { R::name } -> std::convertible_to<std::string_view>;
    { rung.offer(failed) } -> std::same_as<std::optional<Recovery>>;
};

/// What an attempt's decision says if a rung answered: "fresh_worker: the worker died".
[[nodiscard]] inline std::string decision_of(std::string_view rung, std::string_view reason) {
    return std::string{rung} + ": " + std::string{reason};
}
/// The rung, or the place of the rule, that answered a failed attempt. Empty if the tuner itself did, as to an attempt that its reservation
/// limited. Stores of 0.2.0rc1 have it in the decision alone, as its first word.
[[nodiscard]] inline std::string_view answerer_of(const Attempt& attempt) {
    if (!attempt.answered_by.empty()) return attempt.answered_by;
    const std::string_view decision = attempt.decision;
    const std::size_t end = decision.find(": ");
    return end != std::string_view::npos && decision.substr(0, end).find(' ') == std::string_view::npos ? decision.substr(0, end)
                                                                                                        : std::string_view{};
}

/// How often a rung was the answer in a trial's earlier attempts.
[[nodiscard]] inline int uses_of(std::string_view rung, const Trial& trial) {
    return static_cast<int>(std::ranges::count_if(trial.attempts, [&](const Attempt& attempt) { return answerer_of(attempt) == rung; }));
}

/// A retry under the failed attempt's plan.
[[nodiscard]] inline Recovery retry_of(const FailedAttempt& failed, std::string reason) {
    return recovery_of(failed, Recovery::Action::retry, std::move(reason));
}

/// True if the device refused memory, so that an attempt that takes less of it may fit.
[[nodiscard]] inline bool device_refused_memory(const Failure& failure) {
    return failure.kind == FailureKind::out_of_memory && failure.cause != OomCause::host;
}

/// True if other processes held the memory of the device.
[[nodiscard]] inline bool neighbours_held_memory(const Failure& failure) {
    return failure.kind == FailureKind::out_of_memory && failure.cause == OomCause::neighbour;
}

/// What two arguments of a rung, of which the first `given` were given, should be and are not. Empty: nothing is wrong.
[[nodiscard]] inline std::string_view unmet_interval(std::size_t given, double interval_seconds, double timeout_seconds) {
    return given > 1 && interval_seconds > timeout_seconds ? "an interval of at most the timeout" : "";
}

/// True if the memory of a CUDA device was reserved in pieces that are too small, so that other settings of its allocator may help.
[[nodiscard]] inline bool cuda_memory_was_fragmented(const FailedAttempt& failed) {
    return failed.failure.kind == FailureKind::out_of_memory && failed.failure.cause == OomCause::fragmentation &&
           failed.attempt.plan.device.starts_with("cuda");
}

/// A retry under the failed attempt's plan in a new process. An allocator reads its settings when its process starts.
[[nodiscard]] inline Recovery retry_in_new_process(const FailedAttempt& failed, std::string reason) {
    Recovery retry = retry_of(failed, std::move(reason));
    retry.fresh_worker = true;
    return retry;
}

}  // namespace hpo::recovery
