// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/tuner/devices/devices.hpp"

namespace hpo::tuner::inline devices {

inline namespace choice {

/// The bytes that an attempt could still get of a device: what the device has free, or what is not reserved, whichever is less.
[[nodiscard]] inline std::int64_t free_bytes(const SessionDevice& device) {
    const auto free = device.what.executor.free_now();
    const auto capacity = device.what.executor.capacity_bytes();
    std::int64_t bytes = free.value_or(std::numeric_limits<std::int64_t>::max());
    if (capacity) bytes = std::min(bytes, *capacity - device.reservations.reserved_bytes());
    return bytes;
}

/// Passes events on, and knows whether there were any.
class SeenEvents final : public ExecutorEvents {
public:
    explicit SeenEvents(ExecutorEvents& events) : events_{events} {}
    [[nodiscard]] bool any() const noexcept { return any_; }

    void on_started(std::int64_t trial, std::int64_t worker_pid) override { see().on_started(trial, worker_pid); }
    bool on_report(std::int64_t trial, const Report& report) override { return see().on_report(trial, report); }
    Suggestion on_suggest(std::int64_t trial, const std::string& name, const std::string& distribution) override {
        return see().on_suggest(trial, name, distribution);
    }
    void on_memory(std::int64_t trial, const MemoryMark& mark) override { see().on_memory(trial, mark); }
    void on_checkpoint(std::int64_t trial, std::int64_t step) override { see().on_checkpoint(trial, step); }
    void on_end(std::int64_t trial, AttemptOutcome outcome) override { see().on_end(trial, std::move(outcome)); }

private:
    ExecutorEvents& see() {
        any_ = true;
        return events_;
    }

    ExecutorEvents& events_;
    bool any_ = false;
};

}  // namespace choice

HPO_INLINE Devices::Devices(std::span<const TuneDevice> devices, bool predicts) {
    if (devices.empty()) throw Error{Errc::usage, "tuner: no device; expected at least one"};
    for (const TuneDevice& device : devices) {
        if (find(device.name)) throw Error{Errc::usage, "tuner: device '" + device.name + "' twice; expected each device once"};
        devices_.emplace_back(device, predicts);
    }
}

HPO_INLINE std::vector<std::string> Devices::names() const {
    std::vector<std::string> names;
    for (const SessionDevice& device : devices_) names.push_back(device.what.name);
    return names;
}

HPO_INLINE std::vector<std::string> Devices::product_names() const {
    std::vector<std::string> names;
    for (const SessionDevice& device : devices_) {
        std::string name = device.what.executor.runs_on().device_name;
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

HPO_INLINE SessionDevice* Devices::find(std::string_view name) {
    const auto found = std::ranges::find_if(devices_, [&](const SessionDevice& device) { return device.what.name == name; });
    return found == devices_.end() ? nullptr : &*found;
}

HPO_INLINE bool Devices::is_usable(const SessionDevice& device) const {
    const auto any = [&](auto&& wanted) { return std::ranges::any_of(devices_, wanted); };
    if (any([&](const SessionDevice& each) { return works(each) && !each.what.is_fallback; }))
        return works(device) && !device.what.is_fallback;
    // No regular device works. If no fallback does either, nothing is gained by a pause.
    return any([&](const SessionDevice& each) { return works(each); }) ? works(device) : true;
}

SessionDevice* Devices::best_where(auto&& is_wanted) {
    SessionDevice* best = nullptr;
    std::pair<std::int64_t, std::int64_t> most{};  // free bytes, and fewest attempts that hold or wait for a worker
    for (SessionDevice& device : devices_) {
        if (!is_usable(device) || !is_wanted(device)) continue;
        const std::pair here{free_bytes(device),
                             -static_cast<std::int64_t>(device.reservations.admitted() + device.reservations.waiting())};
        if (best && here <= most) continue;
        best = &device;
        most = here;
    }
    return best;
}

HPO_INLINE bool Devices::has_room() const {
    std::size_t free = 0;
    std::size_t kept = 0;
    bool any = false;
    for (const SessionDevice& device : devices_) {
        kept += device.kept_slots();
        if (!is_usable(device)) continue;
        free += device.what.executor.free_slots();
        any = any || device.has_room();
    }
    return any && free > kept;
}

HPO_INLINE SessionDevice& Devices::best(const std::vector<std::string>& other_than) {
    if (!are_several()) return devices_.front();  // its driver need not be asked
    const auto is_new = [&](const SessionDevice& device) { return std::ranges::find(other_than, device.what.name) == other_than.end(); };
    const auto is_other = [&](const SessionDevice& device) { return other_than.empty() || device.what.name != other_than.back(); };
    if (SessionDevice* const found = best_where([&](const SessionDevice& device) { return device.has_room() && is_new(device); }))
        return *found;
    if (SessionDevice* const found = best_where(is_new)) return *found;
    if (SessionDevice* const found = best_where(is_other)) return *found;
    return *best_where([](const SessionDevice&) { return true; });
}

HPO_INLINE SessionDevice& Devices::for_retry(const WaitingAttempt& retry, const std::vector<std::string>& had) {
    SessionDevice* const planned = find(retry.attempt.plan.device);
    if (planned && is_usable(*planned) && !retry.other_device) return *planned;
    return best(retry.other_device ? had : std::vector<std::string>{});
}

HPO_INLINE SessionDevice* Devices::next_larger(const SessionDevice& than) {
    const auto capacity = than.what.executor.capacity_bytes();
    if (!capacity) return nullptr;
    SessionDevice* next = nullptr;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (SessionDevice& device : devices_) {
        const std::int64_t here = device.what.executor.capacity_bytes().value_or(std::numeric_limits<std::int64_t>::max());
        if (!is_usable(device) || here <= *capacity || (next && here >= least)) continue;
        next = &device;
        least = here;
    }
    return next;
}

HPO_INLINE std::size_t Devices::others_usable(std::string_view name) {
    return static_cast<std::size_t>(
        std::ranges::count_if(devices_, [&](const SessionDevice& device) { return device.what.name != name && is_usable(device); }));
}

HPO_INLINE std::vector<WaitingAttempt> Devices::see(const Attempt& attempt, TuneObserver& observer) {
    SessionDevice& device = of(attempt.plan.device);
    if (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped) device.reservations.ended_well();
    const auto works_beside = [&](const SessionDevice& other) { return &other != &device && works(other); };
    if (!device.health.see(attempt) || std::ranges::none_of(devices_, works_beside)) return {};
    observer.device_left_out(device.what.name, device.health.pause_seconds(), *attempt.failure);
    return device.reservations.take_waiting();
}

HPO_INLINE std::optional<WaitingAttempt> Devices::admit(WaitingAttempt attempt, const Trial* trial, TuneObserver& observer) {
    SessionDevice& device = of(attempt.attempt.plan.device);
    const bool is_slot_free = device.what.executor.free_slots() > 0;
    const WaitingAttempt chosen = attempt;
    auto admitted = device.reservations.admit(std::move(attempt), is_slot_free);
    if (!admitted && trial) observer.attempt_waits(*trial, chosen.attempt, chosen.wait(is_slot_free));
    return admitted;
}

HPO_INLINE std::optional<WaitingAttempt> Devices::start_held_back() {
    for (SessionDevice& device : devices_) {
        if (device.what.executor.free_slots() == 0) continue;
        if (auto admitted = device.reservations.next()) return admitted;
    }
    return std::nullopt;
}

HPO_INLINE std::optional<std::int64_t> Devices::release(std::int64_t trial) {
    std::optional<std::int64_t> bytes;
    for (SessionDevice& device : devices_) {
        if (const auto here = device.reservations.release(trial)) bytes = here;
    }
    return bytes;
}

HPO_INLINE void Devices::wait(ExecutorEvents& events, double seconds) {
    if (!are_several()) return devices_.front().what.executor.wait(events, seconds);
    SeenEvents seen{events};
    for (SessionDevice& device : devices_) device.what.executor.wait(seen, 0);
    if (!seen.any()) devices_.front().what.executor.wait(seen, seconds);
}

HPO_INLINE void Devices::idle(TuneObserver& observer) {
    AttemptReservations::Patience all;
    bool runs = false;
    for (const SessionDevice& device : devices_) {
        const auto here = device.reservations.patience();
        runs = runs || device.reservations.admitted() > 0;
        if (here.attempts > 0) all.seconds = all.attempts == 0 ? here.seconds : std::min(all.seconds, here.seconds);
        all.attempts += here.attempts;
    }
    const bool wait = !runs && all.attempts > 0;
    if (wait && !all_wait_) observer.all_wait(all.attempts, all.seconds);
    all_wait_ = wait;
    observer.idle();
}

HPO_INLINE void Devices::interrupt() {
    for (SessionDevice& device : devices_) device.what.executor.interrupt();
}

}  // namespace hpo::tuner::devices
