// SPDX-License-Identifier: MIT
#include "tune/settings/idle_options.hpp"

#include <algorithm>
#include <vector>

#include "hpo/base/error.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {
namespace {

struct IdleOption {
    std::string word;
    std::string why;
    bool only_here = false;  ///< it would have an effect on another machine
};

std::vector<IdleOption> idle_options(const Settings& settings) {
    std::vector<IdleOption> idle;
    const bool only_cpu = std::ranges::all_of(settings.devices(), [](const DeviceWord& device) { return is_cpu(device.name); });
    const bool finds_none = settings.text("device") == "auto" && visible_cards().empty();
    if (only_cpu || finds_none) {
        const std::string why =
            only_cpu ? "the run uses no GPU, since its device is " + settings.text("device") : "this machine has no GPU";
        for (const char* word : {"min-free", "device-wait", "device-interval"}) idle.push_back({word, why, finds_none});
        const bool is_limited = std::ranges::any_of(settings.devices(), [](const DeviceWord& device) { return device.bytes.has_value(); });
        if (!is_limited && !device_budget(settings))
            idle.push_back({"ledger", "nothing limits the memory of the device, so none is reserved; device-memory limits it", finds_none});
    } else if (settings.text("device-wait").empty()) {
        idle.push_back({"device-interval", "the run does not wait for a GPU; device-wait lets it wait"});
    }
    if (const auto& fallback = settings.fallback(); fallback && !fallback->bytes) {
        const bool is_used = std::ranges::any_of(settings.devices(), [&](const DeviceWord& each) { return each.name == fallback->name; });
        if (is_used) idle.push_back({"fallback-device", "the run uses " + fallback->name + " anyway"});
        else if (finds_none && fallback->name == "cpu")
            idle.push_back({"fallback-device", "this machine has no GPU, so the run uses the CPU anyway", true});
    }
    if (settings.text("guard").starts_with("unlimited"))
        idle.push_back({"target-share", "the guard unlimited shrinks no trial", settings.all().at("guard").origin == "default"});
    if (settings.text("log").empty()) idle.push_back({"log-size", "there is no log; --log FILE begins one"});
    return idle;
}

void tell(const Settings& settings, const IdleOption& option, const Note& note) {
    const std::string& origin = settings.all().at(option.word).origin;
    if (origin == "default") return;
    const std::string text = settings.place(option.word) + ": has no effect: " + option.why;
    if (origin == "command line" && !option.only_here) throw Error{Errc::usage, text + "; leave it out"};
    note(text);
}

}  // namespace

void tell_idle_options(const Settings& settings, const Note& note) {
    for (const IdleOption& option : idle_options(settings)) tell(settings, option, note);
}

void tell_idle_capability(const Settings& settings, const std::string& device, const Note& note) {
    if (!is_cpu(device)) return;
    const bool finds_none = settings.text("device") == "auto";
    const std::string why =
        finds_none ? "this machine has no GPU, and --device does not name one to predict for" : "the device is " + device;
    tell(settings, {.word = "compute-capability", .why = why, .only_here = finds_none}, note);
}

}  // namespace hpo::tune
