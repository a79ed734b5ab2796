// SPDX-License-Identifier: MIT
#include "tune/settings/value_checks.hpp"

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
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
        [&] { static_cast<void>(log_bytes(settings)); },
    };
    for (const char* word : {"breaker", "worker-trials"})
        checks.emplace_back([&settings, word] { static_cast<void>(settings.whole(word, 0)); });
    for (const char* word : {"attempt-time", "silence-time", "device-wait", "device-interval", "store-wait"})
        checks.emplace_back([&settings, word] { static_cast<void>(settings.limit(word)); });
    checks.emplace_back([&settings] { tell_idle_options(settings, [](const std::string& /*note*/) {}); });
    return checks;
}

std::int64_t log_bytes(const Settings& settings) {
    const std::int64_t bytes = require_bytes(settings.place("log-size"), settings.text("log-size"));
    constexpr std::int64_t least = 4096;
    if (bytes < least) throw bad_value(settings.place("log-size"), "'" + settings.text("log-size") + "'", "at least 4KiB");
    return bytes;
}

}  // namespace hpo::tune
