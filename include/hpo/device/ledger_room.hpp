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
#include "hpo/core/room_keeper.hpp"
#include "hpo/device/ledger.hpp"
#include "hpo/device/sharing_speed.hpp"

namespace hpo::device {

/// Packs a device's memory by a ledger: an attempt is promised its comfort where that is free at once, else its need, and no more of them
/// share the device than makes all of them together faster. Who needs more than the device has is promised all of it, and runs alone. A
/// request is passed by younger ones for as long as attempts take on average.
class LedgerRoom final : public RoomKeeper {
public:
    struct Settings {
        std::int64_t budget_bytes = 0;                   ///< of the device, for all that use the ledger
        std::function<void(const std::string&)> note{};  ///< told once that an attempt must wait, and each new limit of sharing
    };

    LedgerRoom(Ledger ledger, Settings settings) : ledger_{std::move(ledger)}, settings_{std::move(settings)} {}

    [[nodiscard]] std::optional<std::int64_t> take(const RoomRequest& request) override {
        if (const auto has = running_.find(request.trial); has != running_.end()) return has->second.bytes;
        if (!running_.empty() && count() >= speed_.limit()) return std::nullopt;
        const auto asked = [&](std::int64_t bytes) { return std::min(bytes + bytes / slack, settings_.budget_bytes); };
        std::int64_t bytes = asked(request.need_bytes);
        if (!granted(request.trial, bytes)) {
            tell_waiting(request.trial, bytes);
            return std::nullopt;
        }
        if (ledger_.raise({.trial = request.trial, .bytes = asked(request.comfort_bytes), .budget_bytes = settings_.budget_bytes}))
            bytes = asked(request.comfort_bytes);
        running_[request.trial] = {bytes, ledger_.now()};
        count();
        return bytes;
    }
    void leave(std::int64_t trial) override {
        ledger_.give_back(trial);
        const auto had = running_.find(trial);
        if (had == running_.end()) return;
        seconds_ += ledger_.now() - had->second.since;
        ++ended_;
        running_.erase(had);
        ledger_.set_patience(
            std::max<std::chrono::duration<double>>(Ledger::standard_patience, std::chrono::duration<double>{seconds_ / ended_}));
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
    [[nodiscard]] std::int64_t budget_bytes() const noexcept { return settings_.budget_bytes; }

private:
    /// A 64th more than predicted is promised: predictions that are exact but for a few bytes must not end in a cap.
    static constexpr std::int64_t slack = 64;

    struct Running {
        std::int64_t bytes;
        double since;
    };

    [[nodiscard]] bool granted(std::int64_t trial, std::int64_t bytes) {
        return ledger_.ask({.trial = trial, .bytes = bytes, .budget_bytes = settings_.budget_bytes}) == Ledger::Answer::granted;
    }
    /// How many attempts of all processes are on the device now.
    std::size_t count() {
        const auto all = ledger_.entries();
        const auto on_device =
            static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.granted; }));
        speed_.shared_by(on_device, ledger_.now());
        return on_device;
    }
    void tell_waiting(std::int64_t trial, std::int64_t bytes) {
        if (!settings_.note || std::exchange(has_told_waiting_, true)) return;
        std::int64_t promised = 0;
        for (const LedgerEntry& entry : ledger_.entries()) promised += entry.granted ? entry.bytes : 0;
        settings_.note("trial " + std::to_string(trial) + " waits for " + format_bytes(bytes) + " of the device: " +
                       format_bytes(promised) + " of " + format_bytes(settings_.budget_bytes) + " are promised to others");
    }
    void tell_limit(std::size_t before) {
        const std::size_t now = speed_.limit();
        if (!settings_.note || now >= before) return;
        settings_.note("one trial more on the device makes all of them together no faster: at most " + std::to_string(now) +
                       " at a time from now on");
    }

    Ledger ledger_;
    Settings settings_;
    SharingSpeed speed_;
    std::map<std::int64_t, Running> running_;  ///< by trial
    double seconds_ = 0;                       ///< of all attempts that have ended
    int ended_ = 0;
    bool has_told_waiting_ = false;
};

}  // namespace hpo::device
