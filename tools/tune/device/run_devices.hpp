// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"
#include "tune/device/parallelism.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// A device of a run, and how many work on it.
struct RunDevice {
    std::string name;                            ///< "cpu", "cuda:0"
    std::optional<std::int64_t> capacity_bytes;  ///< nothing: not known
    Parallelism parallel{};
    bool is_fallback = false;  ///< used only while no other can be used
};

/// The names of the devices of the settings, the fallback last. Empty if this machine lacks one of them.
[[nodiscard]] std::vector<std::string> known_devices(const Settings& settings, const TrainerInfo& info);

/// Throws Error{bad_value, no_device} if the machine lacks a device of the settings, or if it cannot be used as they say.
void require_devices(const Settings& settings, const TrainerInfo& info);

/// The devices that a run works on, by `--device`, `--min-free` and `--fallback-device`. If no card has enough free memory, it waits for
/// one as long as `--device-wait` says. `note` is told what is left out or waited for. Throws Error{bad_value, no_device}.
[[nodiscard]] std::vector<RunDevice> run_devices(const Settings& settings, const TrainerInfo& info,
                                                 const std::function<void(const std::string&)>& note);

}  // namespace hpo::tune
