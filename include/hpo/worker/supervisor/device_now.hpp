// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/memory_reading.hpp"
#include "hpo/device/host_occupancy.hpp"
#include "hpo/device/left_by_others.hpp"
#include "hpo/device/nvml.hpp"
#include "hpo/device/process_name.hpp"
#include "hpo/device/visible_cards.hpp"
#include "hpo/worker/supervisor/pool_config.hpp"

namespace hpo::worker::inline supervisor {

/// What other processes leave of the device now. The pool's own processes and those of PoolConfig::ledger_owners do not count as others.
/// For "cpu" it is the metered device, if the pool has one, or host memory if that has less. For a GPU, the driver tells. Returns nullopt
/// if it is not known.
[[nodiscard]] inline std::optional<MemoryReading> device_now(const PoolConfig& config, const std::optional<device::Occupancy>& metered) {
    std::vector<std::int64_t> owners{::getpid()};
    if (config.ledger_owners) {
        for (const std::int64_t owner : config.ledger_owners()) owners.push_back(owner);
    }
    const auto is_ours = [&](std::int64_t pid) {
        return std::ranges::find(owners, pid) != owners.end() || std::ranges::find(owners, device::parent_process(pid)) != owners.end();
    };
    if (config.device == "cpu") {
        const auto host = device::host_occupancy();
        if (!metered && !host) return std::nullopt;
        if (!metered || !host) return device::left_by_others(metered ? *metered : *host, is_ours);
        return device::scarcer(device::left_by_others(*metered, is_ours), device::left_by_others(*host, is_ours));
    }
    static const std::optional<device::Nvml> driver = device::Nvml::load();
    if (!driver) return std::nullopt;
    const auto card = device::card_of(config.device, driver->devices(), card_selection(config.environment));
    if (!card || !card->is_known()) return std::nullopt;
    MemoryReading reading = device::left_by_others(driver->occupancy(*card), is_ours);
    if (config.device_budget_bytes) reading.capacity = std::min(*reading.capacity, *config.device_budget_bytes);
    return reading;
}

}  // namespace hpo::worker::supervisor
