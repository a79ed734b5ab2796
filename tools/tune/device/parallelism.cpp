// SPDX-License-Identifier: MIT
#include "tune/device/parallelism.hpp"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/host_memory.hpp"
#include "tune/device/device_memory.hpp"

namespace hpo::tune {

namespace {

std::size_t automatic_workers(const Settings& settings, const std::string& device, std::size_t cores) {
    if (is_cpu(device)) return std::min<std::size_t>(cores, 4);
    if (settings.text("guard") == "unlimited" || !device_capacity(settings, device)) return 1;
    constexpr std::int64_t host_bytes = std::int64_t{4} << 30U;  // of a process with a GPU's libraries, a data set and a model's weights
    const auto host = device::host_memory();
    const auto bearable = host ? std::max<std::int64_t>(1, host->available / host_bytes) : 1;
    return std::min({cores, static_cast<std::size_t>(bearable), std::size_t{8}});
}

}  // namespace

Parallelism parallelism(const Settings& settings, const std::string& device, const AmongDevices& among) {
    const auto cores = static_cast<std::size_t>(std::max(1U, std::thread::hardware_concurrency()));
    Parallelism result;
    std::size_t in_all = 0;  // workers of all devices
    if (settings.text("workers") == "auto") {
        result.workers = std::max<std::size_t>(1, automatic_workers(settings, device, cores) / among.devices);
        in_all = result.workers * among.devices;
    } else {
        in_all = static_cast<std::size_t>(settings.whole("workers", 1, 120));
        if (in_all < among.devices)
            throw bad_value(settings.place("workers"), std::to_string(in_all) + " for " + std::to_string(among.devices) + " devices",
                            "at least one worker for each device");
        result.workers = in_all / among.devices + (among.place < in_all % among.devices ? 1 : 0);
    }
    if (settings.text("threads") == "auto") result.threads = static_cast<int>(std::max<std::size_t>(1, cores / in_all));
    else result.threads = static_cast<int>(settings.whole("threads", 1, 1024));
    return result;
}

std::vector<std::string> beyond_machine(const Settings& settings, const std::string& device) {
    std::vector<std::string> texts;
    const auto bytes = device_budget(settings);
    const auto host = device::host_memory();
    if (is_cpu(device) && bytes && host && *bytes > host->total)
        texts.push_back(settings.place("device-memory") + ": " + format_bytes(*bytes) + " are more than the " + format_bytes(host->total) +
                        " of this machine: trials may run out of its memory before they meet the limit");
    const auto cores = std::max(1U, std::thread::hardware_concurrency());
    const Parallelism parallel = parallelism(settings, device);
    if (settings.text("threads") != "auto" && static_cast<unsigned>(parallel.threads) > cores)
        texts.push_back(settings.place("threads") + ": " + std::to_string(parallel.threads) +
                        " threads for each worker, but this machine has " + std::to_string(cores) + (cores == 1 ? " core" : " cores") +
                        ": they slow each other down");
    return texts;
}

}  // namespace hpo::tune
