// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

/// What a chosen attempt waits for before it starts.
struct AttemptWait {
    enum class What {
        memory,       ///< memory of the device that other attempts have reserved
        worker,       ///< a worker
        pause,        ///< the end of a pause that was asked for
        free_memory,  ///< enough free memory on the device, or the end of the time for it
        others,       ///< the end of all other attempts, because it shall run alone
    } what = What::memory;
    double seconds = 0;                        ///< at most, from now on, if it pauses or waits for free memory
    std::optional<std::int64_t> need_bytes{};  ///< its estimated need
};

}  // namespace hpo
