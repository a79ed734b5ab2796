// SPDX-License-Identifier: MIT
#include "tune/settings/value_checks.hpp"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/store/location.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/shared_device.hpp"
#include "tune/settings/idle_options.hpp"

namespace hpo::tune {
namespace {

/// The size at which the log of a run begins anew. Throws Error if it is wrong.
std::int64_t log_bytes(const Settings& settings) {
    const std::int64_t bytes = require_bytes(settings.place("log-size"), settings.text("log-size"));
    constexpr std::int64_t least = 4096;
    if (bytes < least) throw bad_value(settings.place("log-size"), "'" + settings.text("log-size") + "'", "at least 4KiB");
    return bytes;
}

}  // namespace

std::vector<std::function<void()>> value_checks(const Settings& settings) {
    std::vector<std::function<void()>> checks{
        [&] { static_cast<void>(settings.plan()); },           [&] { static_cast<void>(settings.whole("trials", 1)); },
        [&] { static_cast<void>(settings.whole("seed", 0)); }, [&] { static_cast<void>(settings.whole("seeds", 1, most_seeds)); },
        [&] { static_cast<void>(settings.time_seconds()); },   [&] { static_cast<void>(settings.plugin_timeout()); },
        [&] { static_cast<void>(device_budget(settings)); },   [&] { static_cast<void>(settings.bytes("min-free")); },
        [&] { static_cast<void>(log_bytes(settings)); },
    };
    for (const char* word : {"breaker", "worker-trials"})
        checks.emplace_back([&settings, word] { static_cast<void>(settings.whole(word, 0)); });
    for (const char* word : {"attempt-time", "silence-time", "device-wait", "device-interval", "store-wait"})
        checks.emplace_back([&settings, word] { static_cast<void>(settings.limit(word)); });
    checks.emplace_back([&settings] { tell_idle_options(settings, [](const std::string& /*note*/) {}); });
    return checks;
}

std::optional<tools::RotatingFile> opened_log(const Settings& settings) {
    const std::int64_t most_bytes = log_bytes(settings);
    const std::string& file = settings.text("log");
    if (file.empty()) return std::nullopt;
    std::error_code ignored;
    const auto log = std::filesystem::weakly_canonical(file, ignored);
    for (const std::string& other : {store::file_of(settings.text("store")), settings.arguments().script}) {
        if (!log.empty() && log == std::filesystem::weakly_canonical(other, ignored))
            throw bad_value(settings.place("log"), "'" + file + "', which the run reads or writes itself", "a file of its own");
    }
    return tools::RotatingFile{file, most_bytes, settings.place("log")};
}

}  // namespace hpo::tune
