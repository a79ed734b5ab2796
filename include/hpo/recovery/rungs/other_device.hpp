// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Retries on another device of the run if this one is to blame, or if other processes held its memory. At most once for each of the other
/// devices, and three times in all.
struct OtherDevice {
    static constexpr std::string_view name = "other_device";
    static constexpr std::string_view summary = "retries on another device, if this one is to blame or other processes held its memory";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        constexpr std::size_t most = 3;
        const Blame blame = traits_of(failed.failure).blame;
        if (blame != Blame::device && blame != Blame::neighbour) return std::nullopt;
        if (static_cast<std::size_t>(uses_of(name, failed.trial)) >= std::min(most, failed.other_devices)) return std::nullopt;
        const std::string& device = failed.attempt.plan.device;
        const std::string why = blame == Blame::device           ? "a fault of " + device
                                : is_memory(failed.failure.kind) ? "other processes held the memory of " + device
                                                                 : "another process is to blame";
        Recovery retry = retry_of(failed, why + ": retry on another device");
        retry.other_device = true;
        return retry;
    }
};

static_assert(RecoveryRung<OtherDevice>);

}  // namespace hpo::recovery
