// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/bytes.hpp"
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

    [[nodiscard]] std::optional<std::int64_t> take(const RoomRequest& request) override {
        if (const auto has = running_.find(request.trial); has != running_.end()) return has->second.bytes;
        if (!running_.empty() && count() >= speed_.limit()) return std::nullopt;
        const Room room = room_now();
        const auto asked = [&](std::int64_t bytes) {
            return std::min(std::max(bytes, std::min(bytes + bytes / slack, room.left_bytes)), room.whole_bytes);
        };
        std::int64_t bytes = asked(request.need_bytes);
        const auto granted = [&](std::int64_t wanted) {
            return wanted <= room.left_bytes &&
                   ledger_.ask({.trial = request.trial, .bytes = wanted, .budget_bytes = room.left_bytes}) == Ledger::Answer::granted;
        };
        if (!granted(bytes)) {
            tell_waiting(request, room);
            return std::nullopt;
        }
        const std::int64_t comfort = std::min(asked(request.comfort_bytes), room.left_bytes);
        if (ledger_.raise({.trial = request.trial, .bytes = comfort, .budget_bytes = room.left_bytes})) bytes = comfort;
        running_[request.trial] = {bytes, ledger_.now()};
        count();
        return bytes;
    }
    void settle(std::int64_t trial, std::int64_t bytes) override {
        const auto had = running_.find(trial);
        if (had == running_.end() || bytes >= had->second.bytes) return;
        had->second.bytes = bytes;
        ledger_.lower(trial, bytes);
    }
    void leave(std::int64_t trial) override {
        ledger_.give_back(trial);
        const auto had = running_.find(trial);
        if (had == running_.end()) return;
        seconds_ += ledger_.now() - had->second.since;
        ++ended_;
        running_.erase(had);
        const std::chrono::duration<double> patience{patience_in_attempts * seconds_ / ended_};
        ledger_.set_patience(std::max<std::chrono::duration<double>>(Ledger::standard_patience, patience));
        const std::size_t before = speed_.limit();
        speed_.ended(trial);
        tell_limit(before);
        count();
    }
    void reported(std::int64_t trial, std::int64_t step) override {
        count();  // other processes come and go, too
        const std::size_t before = speed_.limit();
        speed_.reported(trial, step, ledger_.now());
        tell_limit(before);
    }
    [[nodiscard]] std::vector<LedgerEntry> entries() const { return ledger_.entries(); }
    /// The processes that hold or wait for memory of the ledger.
    [[nodiscard]] std::vector<std::int64_t> owners() const {
        std::vector<std::int64_t> pids;
        for (const LedgerEntry& entry : ledger_.entries()) pids.push_back(entry.pid);
        return pids;
    }
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
    [[nodiscard]] Room room_now() const {
        Room room{settings_.budget_bytes, settings_.budget_bytes};
        auto seen = look_ ? look_() : std::nullopt;
        if (!seen || !seen->free || !seen->capacity) return room;
        room.whole_bytes = std::min(room.whole_bytes, *seen->capacity);
        room.left_bytes = std::clamp<std::int64_t>(*seen->free, 0, room.whole_bytes);
        room.others = std::move(seen->neighbours);
        return room;
    }
    /// How many attempts of all processes are on the device now.
    std::size_t count() {
        const auto all = ledger_.entries();
        const auto on_device =
            static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.granted; }));
        speed_.shared_by(on_device, ledger_.now());
        return on_device;
    }
    void tell_waiting(const RoomRequest& request, const Room& room) {
        if (!settings_.note || std::exchange(has_told_waiting_, true)) return;
        const std::int64_t need = std::min(request.need_bytes, room.whole_bytes);
        const std::string whole = format_bytes(settings_.budget_bytes);
        std::string text = "trial " + std::to_string(request.trial) + " waits for " + format_bytes(need) + " of the device: ";
        std::int64_t promised = 0;
        for (const LedgerEntry& entry : ledger_.entries()) promised += entry.granted ? entry.bytes : 0;
        if (need > room.left_bytes) text += "others leave " + format_bytes(room.left_bytes) + " of " + whole + others_text(room.others);
        else if (need > room.left_bytes - promised) text += format_bytes(promised) + " of " + whole + " are reserved for others";
        else text += "an older request comes first";
        settings_.note(text);
    }
    /// ": python3, process 1234, has 3.00 GiB, ..."
    [[nodiscard]] static std::string others_text(const std::vector<MemoryNeighbour>& others) {
        constexpr std::size_t most = 3;
        std::string text;
        for (std::size_t i = 0; i < others.size() && i < most; ++i) {
            text += (i == 0 ? ": " : ", ") + (others[i].program.empty() ? "process " : others[i].program + ", process ") +
                    std::to_string(others[i].pid) + ", has " + format_bytes(others[i].bytes);
        }
        return text;
    }
    void tell_limit(std::size_t before) {
        const std::size_t now = speed_.limit();
        if (!settings_.note || now >= before) return;
        settings_.note("one trial more on the device makes all of them together no faster: at most " + std::to_string(now) +
                       " at a time from now on");
    }

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
