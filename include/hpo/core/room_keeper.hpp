// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

/// What an attempt wants of its device.
struct RoomRequest {
    std::int64_t trial = 0;
    std::int64_t need_bytes = 0;     ///< predicted; what it must have
    std::int64_t comfort_bytes = 0;  ///< predicted; at least `need_bytes`. With less its allocator has to free and take again
};

/// Shares a device's memory among attempts. Attempts that wait hold no worker, and at most as many wait as workers are free.
class RoomKeeper {
public:
    virtual ~RoomKeeper() = default;
    /// Takes memory for an attempt: the bytes that it may hold, which its worker caps itself at; nothing: no room now, ask again.
    [[nodiscard]] virtual std::optional<std::int64_t> take(const RoomRequest& request) = 0;
    /// The attempt takes no more than `bytes` from now on, which is less than it was given.
    virtual void settle(std::int64_t /*trial*/, std::int64_t /*bytes*/) {}
    /// The attempt that took room, or asked for it, is over.
    virtual void leave(std::int64_t trial) = 0;
    /// An attempt that has room told a step of its training.
    virtual void reported(std::int64_t /*trial*/, std::int64_t /*step*/) {}
};

}  // namespace hpo
