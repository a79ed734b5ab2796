// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

/// The memory that an attempt asks of its device.
struct ReservationRequest {
    std::int64_t trial = 0;
    std::int64_t need_bytes = 0;     ///< estimated; the attempt cannot run with less
    std::int64_t comfort_bytes = 0;  ///< estimated, at least `need_bytes`; with less, the allocator has to give memory back and ask again
};

/// Shares a device's memory among attempts. An attempt reserves before launch, shrinks its reservation if it needs less, and releases it at
/// the end. An attempt that waits holds no worker. At most as many attempts wait as workers are free.
class Reservations {
public:
    virtual ~Reservations() = default;
    /// Reserves memory for an attempt. Returns the bytes that it may hold; its worker caps itself at this size. Returns nullopt if the
    /// memory is not free now: ask again later.
    [[nodiscard]] virtual std::optional<std::int64_t> reserve(const ReservationRequest& request) = 0;
    /// Lowers a reservation: from now on the attempt takes at most `bytes`, which is less than it was given.
    virtual void shrink(std::int64_t /*trial*/, std::int64_t /*bytes*/) {}
    /// Ends the reservation or the request of an attempt that is over.
    virtual void release(std::int64_t trial) = 0;
    /// Says that an attempt with a reservation has reported a step of its training.
    virtual void reported(std::int64_t /*trial*/, std::int64_t /*step*/) {}
};

}  // namespace hpo
