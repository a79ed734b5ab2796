// SPDX-License-Identifier: MIT
#include "hpo/device/ledger_reservations.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"

namespace hpo::device {

std::optional<std::int64_t> LedgerReservations::reserve(const ReservationRequest& request) {
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

void LedgerReservations::shrink(std::int64_t trial, std::int64_t bytes) {
    const auto had = running_.find(trial);
    if (had == running_.end() || bytes >= had->second.bytes) return;
    had->second.bytes = bytes;
    ledger_.lower(trial, bytes);
}

void LedgerReservations::release(std::int64_t trial) {
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

void LedgerReservations::reported(std::int64_t trial, std::int64_t step) {
    count();  // attempts of other processes also begin and end
    const std::size_t before = speed_.limit();
    speed_.reported(trial, step, ledger_.now());
    tell_limit(before);
}

std::vector<std::int64_t> LedgerReservations::owners() const {
    std::vector<std::int64_t> pids;
    for (const LedgerEntry& entry : ledger_.entries()) pids.push_back(entry.pid);
    return pids;
}

LedgerReservations::Room LedgerReservations::room_now() const {
    Room room{settings_.budget_bytes, settings_.budget_bytes};
    auto seen = look_ ? look_() : std::nullopt;
    if (!seen || !seen->free || !seen->capacity) return room;
    room.whole_bytes = std::min(room.whole_bytes, *seen->capacity);
    room.left_bytes = std::clamp<std::int64_t>(*seen->free, 0, room.whole_bytes);
    room.others = std::move(seen->neighbours);
    return room;
}

std::size_t LedgerReservations::count() {
    const auto all = ledger_.entries();
    const auto on_device = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.granted; }));
    speed_.shared_by(on_device, ledger_.now());
    return on_device;
}

void LedgerReservations::tell_waiting(const ReservationRequest& request, const Room& room) {
    if (!settings_.note || std::exchange(has_told_waiting_, true)) return;
    const std::int64_t need = std::min(request.need_bytes, room.whole_bytes);
    const std::string whole = format_bytes(settings_.budget_bytes);
    std::string text = "trial " + std::to_string(request.trial) + " waits for " + format_bytes(need) + " of the device: ";
    std::int64_t reserved = 0;
    for (const LedgerEntry& entry : ledger_.entries()) reserved += entry.granted ? entry.bytes : 0;
    if (need > room.left_bytes)
        text += "other processes leave " + format_bytes(room.left_bytes) + " of " + whole + others_text(room.others);
    else if (need > room.left_bytes - reserved) text += format_bytes(reserved) + " of " + whole + " are reserved for other attempts";
    else text += "an older request comes first";
    settings_.note(text);
}

std::string LedgerReservations::others_text(const std::vector<MemoryNeighbour>& others) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < others.size() && i < most; ++i) {
        text += (i == 0 ? ": " : ", ") + (others[i].program.empty() ? "process " : others[i].program + ", process ") +
                std::to_string(others[i].pid) + ", has " + format_bytes(others[i].bytes);
    }
    return text;
}

void LedgerReservations::tell_limit(std::size_t before) {
    const std::size_t now = speed_.limit();
    if (!settings_.note || now >= before) return;
    settings_.note("one more trial on the device does not make all of them together faster: from now on at most " + std::to_string(now) +
                   " at a time");
}

}  // namespace hpo::device
