// SPDX-License-Identifier: MIT
#include "tune/device/run_devices.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/wait_until.hpp"
#include "hpo/core/device_word.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/parallelism.hpp"
#include "tune/display/cards.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

/// What can be used now of the devices that a person named, and why the others cannot.
struct Usable {
    std::vector<std::string> names;
    std::vector<std::string> left_out;
};

std::vector<std::string> asked_names(const Settings& settings) {
    std::vector<std::string> names;
    for (const DeviceWord& word : settings.devices()) {
        if (word.name != "cuda:*") {
            names.push_back(word.name);
            continue;
        }
        for (std::size_t i = 0; i < visible_cards().size(); ++i) names.push_back("cuda:" + std::to_string(i));
        if (names.empty()) names.emplace_back("cuda");  // whose absence is then told
    }
    return names;
}

Usable usable_now(const Settings& settings, const TrainerInfo& info, std::optional<std::int64_t> min_free_bytes) {
    Usable usable;
    for (const std::string& name : asked_names(settings)) {
        try {
            std::string device = usable_device(settings.place("device"), name, info);
            const auto card = card_of(device);
            if (card && min_free_bytes && card->free_bytes < *min_free_bytes) {
                usable.left_out.push_back(device + " has " + format_bytes(card->free_bytes) + " free of the " +
                                          format_bytes(*min_free_bytes) + " of " + settings.place("min-free"));
                continue;
            }
            usable.names.push_back(std::move(device));
        } catch (const Error& error) {
            if (error.code() != Errc::no_device) throw;
            const std::string why = error.what();  // without a driver, the same for each
            if (std::ranges::find(usable.left_out, why) == usable.left_out.end()) usable.left_out.push_back(why);
        }
    }
    return usable;
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
    return all;
}

/// Looks again and again until a device can be used or the time is over.
Usable awaited(const Settings& settings, const TrainerInfo& info, const std::function<void(const std::string&)>& note) {
    const auto min_free = settings.bytes("min-free");
    const auto wait = settings.limit("device-wait");
    const auto seconds_of = [](std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); };
    const double seconds = wait ? seconds_of(*wait) : 0;
    Usable usable;
    bool has_told = !wait;
    const auto is_there = [&] {
        usable = usable_now(settings, info, min_free);
        const bool found = !usable.names.empty();
        if (!found && !std::exchange(has_told, true))
            note("waiting up to " + duration(seconds) + " for a device: " + joined(usable.left_out));
        return found;
    };
    const double pause = seconds_of(settings.limit("device-interval").value());
    static_cast<void>(wait_until(is_there, {.most_seconds = seconds, .pause_seconds = pause}));
    return usable;
}

/// Finds the memory and the workers of each device.
void measure(std::vector<RunDevice>& devices, const Settings& settings) {
    const auto regular = static_cast<std::size_t>(std::ranges::count(devices, false, &RunDevice::is_fallback));
    for (std::size_t i = 0; i < devices.size(); ++i) {
        RunDevice& device = devices[i];
        if (is_cpu(device.name) && device.name != "cpu" && !device_capacity(settings, device.name))
            throw bad_value(settings.place(device.is_fallback ? "fallback-device" : "device"), "'" + device.name + "' without a size",
                            "how much memory it has, as --device-memory 600MiB or " + device.name + "=600MiB");
        device.capacity_bytes = device_capacity(settings, device.name);
        device.parallel = device.is_fallback || regular == 0 ? parallelism(settings, device.name)
                                                             : parallelism(settings, device.name, {.devices = regular, .place = i});
    }
}

}  // namespace

std::vector<std::string> known_devices(const Settings& settings, const TrainerInfo& info) {
    std::vector<std::string> names;
    try {
        for (const std::string& name : asked_names(settings)) names.push_back(usable_device(settings.place("device"), name, info));
        if (const auto& fallback = settings.fallback())
            names.push_back(usable_device(settings.place("fallback-device"), fallback->name, info));
    } catch (const Error& error) {
        if (error.code() != Errc::no_device) throw;
        return {};
    }
    return names;
}

void require_devices(const Settings& settings, const TrainerInfo& info) {
    std::vector<RunDevice> devices;
    for (const std::string& name : asked_names(settings))
        devices.push_back({.name = usable_device(settings.place("device"), name, info), .capacity_bytes = {}});
    if (const auto& fallback = settings.fallback()) {
        std::string name = usable_device(settings.place("fallback-device"), fallback->name, info);
        devices.push_back({.name = std::move(name), .capacity_bytes = {}, .is_fallback = true});
    }
    measure(devices, settings);
}

std::vector<RunDevice> run_devices(const Settings& settings, const TrainerInfo& info, const std::function<void(const std::string&)>& note) {
    const Usable usable = awaited(settings, info, note);
    std::vector<RunDevice> devices;
    for (const std::string& name : usable.names) devices.push_back({.name = name, .capacity_bytes = {}});
    if (!devices.empty() && !usable.left_out.empty()) note("left out: " + joined(usable.left_out));
    if (const auto& fallback = settings.fallback()) {
        const std::string name = usable_device(settings.place("fallback-device"), fallback->name, info);
        const bool is_used = std::ranges::any_of(devices, [&](const RunDevice& device) { return device.name == name; });
        if (devices.empty()) note("runs on " + name + ", the fallback: " + joined(usable.left_out));
        if (!is_used) devices.push_back({.name = name, .capacity_bytes = {}, .is_fallback = true});
    }
    if (devices.empty()) throw Error{Errc::no_device, joined(usable.left_out)};
    measure(devices, settings);
    return devices;
}

}  // namespace hpo::tune
