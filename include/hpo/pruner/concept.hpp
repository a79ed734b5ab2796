// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string>

#include "hpo/core/history.hpp"

namespace hpo {

/// A running trial that has just reported.
struct PruneQuery {
    const Trial& trial;     ///< its `intermediate` holds the report
    std::int64_t step = 0;  ///< of the latest report
    Direction direction = Direction::minimize;
    const History& history;
};

/// Whether a trial continues.
struct Verdict {
    enum class Answer { keep, prune } answer = Answer::keep;
    std::string reason;  ///< in words, if the trial is pruned

    [[nodiscard]] bool prunes() const noexcept { return answer == Answer::prune; }
};

/// Decides whether a running trial is worth finishing. Studies with several objectives are never pruned. A pruner may keep what it has read
/// of a study (HistoryCursor); its verdict depends on the query alone.
template <class P>
concept Pruner = std::movable<P> && requires(P& pruner, const PruneQuery& query) {
    { pruner.judge(query) } -> std::same_as<Verdict>;
};

}  // namespace hpo
