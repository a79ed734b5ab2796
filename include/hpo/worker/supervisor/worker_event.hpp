// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/trainer/attempt_event.hpp"

namespace hpo::worker {

/// What a worker said of its trial, kept until the pool's `wait` or `submit` may deliver it.
struct WorkerEvent {
    std::int64_t trial;
    AttemptEvent what;
    std::int64_t id = 0;  ///< Happened::id
};

}  // namespace hpo::worker
