// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/space/count.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// What a study's memory guard would do with the combinations of its space, before anything is launched.
struct GuardedCount {
    std::string guard;                           ///< as it was written
    std::optional<std::int64_t> capacity_bytes;  ///< that predictions are held against
    bool keeps_all = false;                      ///< whatever the space: the guard predicts nothing, or there is no capacity
    bool sampled = false;                        ///< `looked_at` are random draws; else each combination once
    std::uint64_t looked_at = 0;
    std::uint64_t shrunk = 0;       ///< run with a smaller micro-batch
    std::uint64_t refused = 0;      ///< at no micro-batch
    std::uint64_t unpredicted = 0;  ///< run, because the guard has no opinion
    std::string problem;            ///< why nothing can be said; empty: it can
    std::string remark;             ///< what limits the predictions

    [[nodiscard]] std::uint64_t kept() const { return looked_at - refused; }
    [[nodiscard]] std::string text() const;
};

/// Asks the guard about each combination of a small space, else about random draws; a worker tells the model's shape where the
/// guard wants it. Takes at most about half a minute.
[[nodiscard]] GuardedCount count_guarded(Settings& settings, const SpaceCount& count);

}  // namespace hpo::tune
