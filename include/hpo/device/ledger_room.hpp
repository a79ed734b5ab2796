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
#include "hpo/core/room_keeper.hpp"
#include "hpo/device/ledger.hpp"
#include "hpo/device/sharing_speed.hpp"

namespace hpo::device {

/// Packs a device's memory by a ledger: an attempt is promised its comfort where that is free at once, else its need, and no more of them
/// share the device than makes all of them together faster. Who needs more than the device has is promised all of it, and runs alone. A
/// request is passed by younger ones for as long as ten attempts take on average, one after the other.
class LedgerRoom final : public RoomKeeper {
public:
    struct Settings {
        std::int64_t budget_bytes = 0;                   ///< of the device, for all that use the ledger
        std::function<void(const std::string&)> note{};  ///< told once that an attempt must wait, and each new limit of sharing
    };

    LedgerRoom(Ledger ledger, Settings settings) : ledger_{std::move(ledger)}, settings_{std::move(settings)} {}

    /// From now on memory that processes without a part in the ledger hold, by what `look` says of the device, is none to be promised.
    void watch_others(std::function<std::optional<MemoryReading>()> look) { look_ = std::move(look); }

    [[nodiscard]] std::optional<std::int64_t> take(const RoomRequest& request) override;
    void settle(std::int64_t trial, std::int64_t bytes) override;
    void leave(std::int64_t trial) override;
    void reported(std::int64_t trial, std::int64_t step) override;
    [[nodiscard]] std::vector<LedgerEntry> entries() const { return ledger_.entries(); }
    /// The processes that hold or wait for memory of the ledger.
    [[nodiscard]] std::vector<std::int64_t> owners() const;
    [[nodiscard]] std::int64_t budget_bytes() const noexcept { return settings_.budget_bytes; }

private:
    /// A 64th more than predicted is promised: predictions that are exact but for a few bytes must not end in a cap.
    static constexpr std::int64_t slack = 64;
    /// How long younger requests may pass one, in mean durations of an attempt. Emptying the device for it leaves room unused: with one
    /// such duration instead of ten bench/packing.cpp takes 5 to 7 % longer, and its longest waits are a third shorter.
    static constexpr double patience_in_attempts = 10;

    struct Running {
        std::int64_t bytes;
        double since;
    };

    /// What there is to be promised.
    struct Room {
        std::int64_t whole_bytes = 0;  ///< of the device
        std::int64_t left_bytes = 0;   ///< by processes that have no part in the ledger
        std::vector<MemoryNeighbour> others{};
    };
    [[nodiscard]] Room room_now() const;
    /// How many attempts of all processes are on the device now.
    std::size_t count();
    void tell_waiting(const RoomRequest& request, const Room& room);
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

#ifndef HPO_COMPILED
#include "hpo/device/impl/ledger_room_inl.hpp"
#endif
