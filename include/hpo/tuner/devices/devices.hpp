// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/devices/attempt_reservations.hpp"
#include "hpo/tuner/devices/capacity_reservations.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo::tuner {

/// Whether a device works, as the ends of its attempts tell. After `most_in_a_row` attempts in a row that failed by the device's fault
/// (Blame::device) it is left out for `first_pause`. Then attempts may run there again. If the next one fails in the same way, the pause is
/// twice as long, up to `longest_pause`.
class DeviceHealth {
public:
    static constexpr int most_in_a_row = 3;
    static constexpr double first_pause = 60;      ///< seconds
    static constexpr double longest_pause = 1800;  ///< seconds

    /// Call it for each attempt that ended on the device. Returns true if the device is left out from now on.
    bool see(const Attempt& attempt) {
        const bool by_device = attempt.failure && traits_of(*attempt.failure).blame == Blame::device;
        if (!by_device) {  // a failure of the trial's own says nothing about the device
            if (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped) *this = {};
            return false;
        }
        if (++in_a_row_ < most_in_a_row || !works()) return false;
        pause_ = pause_ == 0 ? first_pause : std::min(2 * pause_, longest_pause);
        since_ = Stopwatch{};
        return true;
    }
    [[nodiscard]] bool works() const { return pause_ == 0 || since_.seconds() >= pause_; }
    [[nodiscard]] double pause_seconds() const noexcept { return pause_; }

private:
    int in_a_row_ = 0;
    double pause_ = 0;  ///< seconds; 0: the device was never left out since an attempt succeeded
    Stopwatch since_;   ///< the beginning of the pause
};

}  // namespace hpo::tuner

namespace hpo {

/// A device that the attempts of a study run on.
struct TuneDevice {
    std::string name;                      ///< ExecutionPlan::device of these attempts: "cuda:1"
    Executor& executor;                    ///< runs attempts on this device alone
    Reservations* reservations = nullptr;  ///< as TuneOptions::reservations
    bool predicts = false;                 ///< as TuneOptions::predicts
    /// True if attempts run on it only while no other device can be used.
    bool is_fallback = false;
};

namespace tuner::inline devices {

/// One of a session's devices: what runs there, what memory is reserved, and whether it works.
struct SessionDevice {
    SessionDevice(const TuneDevice& device, bool predicts, const ExecutionPlan& plan)
        : what{device},
          own_reservations{shared_capacity(device, plan)},
          reservations{own_reservations ? &*own_reservations : device.reservations, device.predicts && predicts,
                       [this] { return what.executor.free_now(); }} {}
    SessionDevice(const SessionDevice&) = delete;
    SessionDevice& operator=(const SessionDevice&) = delete;
    ~SessionDevice() = default;

    /// True if an attempt can be chosen for it now: a worker is free, and is not kept for one that waits.
    [[nodiscard]] bool has_room() const { return what.executor.free_slots() > kept_slots(); }
    /// The worker slots that are kept for attempts that wait for this device.
    [[nodiscard]] std::size_t kept_slots() const { return reservations.kept_slots(what.executor.free_slots() + reservations.admitted()); }

    TuneDevice what;
    std::optional<CapacityReservations> own_reservations;
    AttemptReservations reservations;
    DeviceHealth health;

private:
    /// The reservations of a device for which the caller gave none. Where the executor has no capacity, a guard compares each trial with
    /// the plan's cap on the CPU (guard/admission.hpp), so together they keep to that.
    [[nodiscard]] static std::optional<CapacityReservations> shared_capacity(const TuneDevice& device, const ExecutionPlan& plan) {
        if (device.reservations || !device.executor.shares_capacity()) return std::nullopt;
        auto capacity = device.executor.capacity_bytes();
        if (!capacity && is_cpu(device.name)) capacity = plan.cap_bytes;
        return capacity ? std::optional{CapacityReservations{*capacity}} : std::nullopt;
    }
};

/// The devices of a session. A new attempt goes to the one with the most free memory. A device on which attempts fail again and again by
/// its own fault is left out for a while, as long as another one works.
///
/// Thread safety: none.
class Devices {
public:
    /// `devices` are at least one, with different names. `predicts` says whether the study's guard predicts memory.
    /// `plan` is TuneOptions::plan.
    Devices(std::span<const TuneDevice> devices, bool predicts, const ExecutionPlan& plan);

    [[nodiscard]] bool are_several() const noexcept { return devices_.size() > 1; }
    [[nodiscard]] std::vector<std::string> names() const;
    /// The names of the devices' products, each once, without those that are not known.
    [[nodiscard]] std::vector<std::string> product_names() const;

    /// The device of a plan. Null if the session has none of this name.
    [[nodiscard]] SessionDevice* find(std::string_view name);
    /// The device of an attempt that this session has started.
    [[nodiscard]] SessionDevice& of(std::string_view name) { return *find(name); }
    /// True if a usable device has room for an attempt, and more workers are free than are kept for attempts that wait.
    [[nodiscard]] bool has_room() const;
    /// The usable device that has room and the most free memory, else the one with the most free memory. `other_than` names devices that
    /// are not wanted if there are others. If there are none, only the last of them is not wanted.
    [[nodiscard]] SessionDevice& best(const std::vector<std::string>& other_than = {});
    /// The device of a retry: the one that its plan names, unless that cannot be used or another one is wanted. `had` are the devices of
    /// the trial's attempts.
    [[nodiscard]] SessionDevice& for_retry(const WaitingAttempt& retry, const std::vector<std::string>& had);
    /// The usable device with the least capacity above this device's. Null if there is none.
    [[nodiscard]] SessionDevice* next_larger(const SessionDevice& than);
    /// How many other devices could run the attempt of a plan for `name`.
    [[nodiscard]] std::size_t others_usable(std::string_view name);
    /// False if the device is left out now.
    [[nodiscard]] bool is_usable(const SessionDevice& device) const;

    /// Learns from the end of an attempt whether its device works. If the device is left out from now on, it tells the observer, and
    /// returns the attempts that wait for it, which should go elsewhere.
    [[nodiscard]] std::vector<WaitingAttempt> see(const Attempt& attempt, TuneObserver& observer);

    /// Takes back the attempts that wait on any device and for which `is_wanted` holds.
    template <std::predicate<const WaitingAttempt&> Wanted>
    [[nodiscard]] std::vector<WaitingAttempt> take_waiting(const Wanted& is_wanted) {
        std::vector<WaitingAttempt> taken;
        for (SessionDevice& device : devices_) device.reservations.take_waiting(taken, is_wanted);
        return taken;
    }
    /// Admits an attempt to the device of its plan. If it has to wait there, tells the observer what for, unless `trial` is null, and
    /// returns nullopt.
    [[nodiscard]] std::optional<WaitingAttempt> admit(WaitingAttempt attempt, const Trial* trial, TuneObserver& observer);
    /// An attempt that waited for memory, if there is memory and a worker for it now.
    [[nodiscard]] std::optional<WaitingAttempt> start_held_back();
    /// Releases the trial's reservation on whatever device has it. Returns its bytes.
    std::optional<std::int64_t> release(std::int64_t trial);

    /// Delivers the events of all executors. Waits for one for at most `seconds`. Executors that share no event loop may hold an event of
    /// another for that long.
    void wait(ExecutorEvents& events, double seconds);
    void interrupt();
    /// Tells the observer event::Idle. Before, if nothing runs any more because all attempts wait for free memory, it tells that once.
    void idle(TuneObserver& observer);

private:
    [[nodiscard]] SessionDevice* best_where(auto&& is_wanted);
    [[nodiscard]] bool works(const SessionDevice& device) const { return device.health.works(); }

    std::deque<SessionDevice> devices_;
    bool all_wait_ = false;  ///< that was told
};

}  // namespace tuner::devices
}  // namespace hpo

namespace hpo::tuner {

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

    EventAnswer on(std::int64_t trial, AttemptEvent event) override {
        any_ = true;
        return events_.on(trial, std::move(event));
    }

private:
    ExecutorEvents& events_;
    bool any_ = false;
};

}  // namespace choice

inline Devices::Devices(std::span<const TuneDevice> devices, bool predicts, const ExecutionPlan& plan) {
    if (devices.empty()) throw Error{Errc::usage, "tuner: no device; expected at least one"};
    for (const TuneDevice& device : devices) {
        if (find(device.name)) throw Error{Errc::usage, "tuner: device '" + device.name + "' twice; expected each device once"};
        devices_.emplace_back(device, predicts, plan);
    }
}

inline std::vector<std::string> Devices::names() const {
    std::vector<std::string> names;
    for (const SessionDevice& device : devices_) names.push_back(device.what.name);
    return names;
}

inline std::vector<std::string> Devices::product_names() const {
    std::vector<std::string> names;
    for (const SessionDevice& device : devices_) {
        std::string name = device.what.executor.runs_on().device_name;
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

inline SessionDevice* Devices::find(std::string_view name) {
    const auto found = std::ranges::find_if(devices_, [&](const SessionDevice& device) { return device.what.name == name; });
    return found == devices_.end() ? nullptr : &*found;
}

inline bool Devices::is_usable(const SessionDevice& device) const {
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

inline bool Devices::has_room() const {
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

inline SessionDevice& Devices::best(const std::vector<std::string>& other_than) {
    if (!are_several()) return devices_.front();  // its driver need not be asked
    const auto is_new = [&](const SessionDevice& device) { return std::ranges::find(other_than, device.what.name) == other_than.end(); };
    const auto is_other = [&](const SessionDevice& device) { return other_than.empty() || device.what.name != other_than.back(); };
    if (SessionDevice* const found = best_where([&](const SessionDevice& device) { return device.has_room() && is_new(device); }))
        return *found;
    if (SessionDevice* const found = best_where(is_new)) return *found;
    if (SessionDevice* const found = best_where(is_other)) return *found;
    return *best_where([](const SessionDevice&) { return true; });
}

inline SessionDevice& Devices::for_retry(const WaitingAttempt& retry, const std::vector<std::string>& had) {
    SessionDevice* const planned = find(retry.attempt.plan.device);
    if (planned && is_usable(*planned) && !retry.other_device) return *planned;
    return best(retry.other_device ? had : std::vector<std::string>{});
}

inline SessionDevice* Devices::next_larger(const SessionDevice& than) {
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

inline std::size_t Devices::others_usable(std::string_view name) {
    return static_cast<std::size_t>(
        std::ranges::count_if(devices_, [&](const SessionDevice& device) { return device.what.name != name && is_usable(device); }));
}

inline std::vector<WaitingAttempt> Devices::see(const Attempt& attempt, TuneObserver& observer) {
    SessionDevice& device = of(attempt.plan.device);
    if (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped) device.reservations.ended_well();
    const auto works_beside = [&](const SessionDevice& other) { return &other != &device && works(other); };
    if (!device.health.see(attempt) || std::ranges::none_of(devices_, works_beside)) return {};
    observer.on(event::DeviceLeftOut{device.what.name, device.health.pause_seconds(), *attempt.failure});
    return device.reservations.take_waiting();
}

inline std::optional<WaitingAttempt> Devices::admit(WaitingAttempt attempt, const Trial* trial, TuneObserver& observer) {
    SessionDevice& device = of(attempt.attempt.plan.device);
    const bool is_slot_free = device.what.executor.free_slots() > 0;
    const WaitingAttempt chosen = attempt;
    auto admitted = device.reservations.admit(std::move(attempt), is_slot_free);
    if (!admitted && trial) observer.on(event::AttemptWaits{*trial, chosen.attempt, chosen.wait(is_slot_free)});
    return admitted;
}

inline std::optional<WaitingAttempt> Devices::start_held_back() {
    for (SessionDevice& device : devices_) {
        if (device.what.executor.free_slots() == 0) continue;
        if (auto admitted = device.reservations.next()) return admitted;
    }
    return std::nullopt;
}

inline std::optional<std::int64_t> Devices::release(std::int64_t trial) {
    std::optional<std::int64_t> bytes;
    for (SessionDevice& device : devices_) {
        if (const auto here = device.reservations.release(trial)) bytes = here;
    }
    return bytes;
}

inline void Devices::wait(ExecutorEvents& events, double seconds) {
    if (!are_several()) return devices_.front().what.executor.wait(events, seconds);
    SeenEvents seen{events};
    for (SessionDevice& device : devices_) device.what.executor.wait(seen, 0);
    if (!seen.any()) devices_.front().what.executor.wait(seen, seconds);
}

inline void Devices::idle(TuneObserver& observer) {
    AttemptReservations::Patience all;
    bool runs = false;
    for (const SessionDevice& device : devices_) {
        const auto here = device.reservations.patience();
        runs = runs || device.reservations.admitted() > 0;
        if (here.attempts > 0) all.seconds = all.attempts == 0 ? here.seconds : std::min(all.seconds, here.seconds);
        all.attempts += here.attempts;
    }
    const bool wait = !runs && all.attempts > 0;
    if (wait && !all_wait_) observer.on(event::AllWait{all.attempts, all.seconds});
    all_wait_ = wait;
    observer.on(event::Idle{});
}

inline void Devices::interrupt() {
    for (SessionDevice& device : devices_) device.what.executor.interrupt();
}

}  // namespace hpo::tuner
