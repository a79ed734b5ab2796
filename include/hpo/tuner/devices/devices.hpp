// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/devices/attempt_reservations.hpp"
#include "hpo/tuner/devices/device_health.hpp"
#include "hpo/tuner/options.hpp"

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
    SessionDevice(const TuneDevice& device, bool predicts)
        : what{device}, reservations{device.reservations, device.predicts && predicts, [this] { return what.executor.free_now(); }} {}
    SessionDevice(const SessionDevice&) = delete;
    SessionDevice& operator=(const SessionDevice&) = delete;
    ~SessionDevice() = default;

    /// True if an attempt can be chosen for it now: a worker is free, and is not kept for one that waits.
    [[nodiscard]] bool has_room() const { return what.executor.free_slots() > kept_slots(); }
    /// The worker slots that are kept for attempts that wait for this device.
    [[nodiscard]] std::size_t kept_slots() const { return reservations.kept_slots(what.executor.free_slots() + reservations.admitted()); }

    TuneDevice what;
    AttemptReservations reservations;
    DeviceHealth health;
};

/// The devices of a session. A new attempt goes to the one with the most free memory. A device on which attempts fail again and again by
/// its own fault is left out for a while, as long as another one works.
///
/// Thread safety: none.
class Devices {
public:
    /// `devices` are at least one, with different names. `predicts` says whether the study's guard predicts memory.
    Devices(std::span<const TuneDevice> devices, bool predicts);

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
    /// Calls observer.idle(). Before, if nothing runs any more because all attempts wait for free memory, it tells that once.
    void idle(TuneObserver& observer);

private:
    [[nodiscard]] SessionDevice* best_where(auto&& is_wanted);
    [[nodiscard]] bool works(const SessionDevice& device) const { return device.health.works(); }

    std::deque<SessionDevice> devices_;
    bool all_wait_ = false;  ///< that was told
};

}  // namespace tuner::devices
}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/tuner/devices/impl/devices_inl.hpp"
#endif
