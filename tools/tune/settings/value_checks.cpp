// SPDX-License-Identifier: MIT
#include "tune/settings/value_checks.hpp"

#include "hpo/core/field.hpp"
#include "tune/device/shared_device.hpp"
#include "tune/settings/idle_options.hpp"

namespace hpo::tune {

std::vector<std::function<void()>> value_checks(const Settings& settings) {
    std::vector<std::function<void()>> checks{
        [&] { static_cast<void>(settings.plan()); },
        [&] { static_cast<void>(settings.whole("trials", 1)); },
        [&] { static_cast<void>(settings.whole("seed", 0)); },
        [&] { static_cast<void>(settings.time_seconds()); },
        [&] { static_cast<void>(settings.plugin_timeout()); },
        [&] { static_cast<void>(device_budget(settings)); },
        [&] { static_cast<void>(settings.bytes("min-free")); },
    };
    for (const char* word : {"breaker", "worker-trials"})
        checks.emplace_back([&settings, word] { static_cast<void>(settings.whole(word, 0)); });
    for (const char* word : {"attempt-time", "silence-time", "device-wait", "device-interval"})
        checks.emplace_back([&settings, word] { static_cast<void>(settings.limit(word)); });
    checks.emplace_back([&settings] { tell_idle_options(settings, [](const std::string& /*note*/) {}); });
    return checks;
}

}  // namespace hpo::tune
