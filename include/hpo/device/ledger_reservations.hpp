// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/memory_reading.hpp"
#include "hpo/core/reservations.hpp"
#include "hpo/device/ledger.hpp"
#include "hpo/device/sharing_speed.hpp"

namespace hpo::device {

/// Reserves a device's memory for attempts, in a ledger that all processes share. An attempt gets its `comfort_bytes` if they are free at
/// once and no request waits, else its `need_bytes`. If it requires more than the device has, it gets all of it and runs alone. Another
/// attempt joins the device only while that makes all of them together faster. Younger requests may pass an older one for the time of ten
/// average attempts.
class LedgerReservations final : public Reservations {
public:
    struct Settings {
        std::int64_t budget_bytes = 0;                   ///< of the device, for all users of the ledger
        std::function<void(const std::string&)> note{};  ///< told once that an attempt has to wait, and each lower limit of sharing
    };

    LedgerReservations(Ledger ledger, Settings settings) : ledger_{std::move(ledger)}, settings_{std::move(settings)} {}

    /// From now on, memory that processes outside of the ledger hold is not reserved for attempts. `look` reads the device.
    void watch_others(std::function<std::optional<MemoryReading>()> look) { look_ = std::move(look); }

    [[nodiscard]] std::optional<std::int64_t> reserve(const ReservationRequest& request) override;
    void shrink(std::int64_t trial, std::int64_t bytes) override;
    void release(std::int64_t trial) override;
    void reported(std::int64_t trial, std::int64_t step) override;
    [[nodiscard]] std::vector<LedgerEntry> entries() const { return ledger_.entries(); }
    /// The processes that hold or wait for memory of the ledger.
    [[nodiscard]] std::vector<std::int64_t> owners() const;
    [[nodiscard]] std::int64_t budget_bytes() const noexcept { return settings_.budget_bytes; }

private:
    /// A 64th more than predicted is reserved, because a prediction that is a few bytes too low must not end at the cap.
    static constexpr std::int64_t slack = 64;
    /// How long younger requests may pass an older one, in mean durations of an attempt. If the device is emptied for the older one, memory
    /// stays unused. With 1 instead of 10, bench/packing.cpp takes 5 to 7 % longer, and its longest waits are a third shorter.
    static constexpr double patience_in_attempts = 10;

    struct Running {
        std::int64_t bytes;
        double since;
    };

    /// How much memory can be reserved.
    struct Room {
        std::int64_t whole_bytes = 0;  ///< all of the device
        std::int64_t left_bytes = 0;   ///< what processes outside of the ledger leave
        std::vector<MemoryNeighbour> others{};
    };
    [[nodiscard]] Room room_now() const;
    /// How many attempts of all processes are on the device now.
    std::size_t count();
    void tell_waiting(const ReservationRequest& request, const Room& room);
    /// ": python3, process 1234, has 3.00 GiB, ..."
    [[nodiscard]] static std::string others_text(const std::vector<MemoryNeighbour>& others);
    void tell_limit(std::size_t before);

    Ledger ledger_;
    Settings settings_;
    std::function<std::optional<MemoryReading>()> look_{};
    SharingSpeed speed_;
    std::map<std::int64_t, Running> running_;  ///< by trial
    double seconds_ = 0;                       ///< of all attempts that have ended
    int ended_ = 0;
    bool has_told_waiting_ = false;
};

}  // namespace hpo::device
