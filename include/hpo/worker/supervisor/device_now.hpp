// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/device_word.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/device/host_occupancy.hpp"
#include "hpo/device/left_by_others.hpp"
#include "hpo/device/nvml.hpp"
#include "hpo/device/process_name.hpp"
#include "hpo/device/visible_cards.hpp"
#include "hpo/device/xid_watch.hpp"
#include "hpo/worker/supervisor/pool_config.hpp"
#include "hpo/worker/supervisor/xid_notes.hpp"

namespace hpo::worker {

/// NVIDIA's driver, which is loaded once. Nullopt: there is none.
[[nodiscard]] inline const std::optional<device::Nvml>& driver() {
    static const std::optional<device::Nvml> loaded = device::Nvml::load();
    return loaded;
}

/// The pool's card. Returns nullopt if the pool has none, or if it is not known which.
[[nodiscard]] inline std::optional<device::NvidiaDevice> card_of_pool(const PoolConfig& config) {
    if (is_cpu(config.device) || !driver()) return std::nullopt;
    auto card = device::card_of(config.device, driver()->devices(), card_selection(config.environment));
    return card && card->is_known() ? card : std::nullopt;
}

/// Who holds how much of the pool's card now, as the driver tells. Returns nullopt if it is not known.
[[nodiscard]] inline std::optional<device::Occupancy> card_occupancy(const PoolConfig& config) {
    const auto card = card_of_pool(config);
    return card ? std::optional{driver()->occupancy(*card)} : std::nullopt;
}

/// The Xids of the pool's card, as the driver tells. Empty if it tells none.
[[nodiscard]] inline XidNotes::Source xids_of_card(const PoolConfig& config) {
    const auto card = card_of_pool(config);
    auto watch = card ? device::XidWatch::begin(*driver(), *card) : std::nullopt;
    if (!watch) return {};
    static constexpr std::chrono::milliseconds patience{50};  // a process may die before the driver's report is there
    return [watch = std::make_shared<device::XidWatch>(*std::move(watch))](bool patiently) {
        return watch->take(patiently ? patience : std::chrono::milliseconds{});
    };
}

/// Bytes that no process holds of the device now. For "cpu" it is what is free of the metered device, or of host memory if that is less.
[[nodiscard]] inline std::optional<std::int64_t> free_now(const PoolConfig& config, const std::optional<device::Occupancy>& metered) {
    std::optional<std::int64_t> least;
    const auto look = [&](const std::optional<device::Occupancy>& seen) {
        if (!seen) return;
        const std::int64_t free = std::max<std::int64_t>(0, seen->capacity_bytes - seen->used_bytes);
        least = least ? std::min(*least, free) : free;
    };
    if (is_cpu(config.device)) {
        look(metered);
        look(device::host_occupancy());
    } else {
        look(card_occupancy(config));
    }
    return least;
}

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
    if (is_cpu(config.device)) {
        const auto host = device::host_occupancy();
        if (!metered && !host) return std::nullopt;
        if (!metered || !host) return device::left_by_others(metered ? *metered : *host, is_ours);
        return device::scarcer(device::left_by_others(*metered, is_ours), device::left_by_others(*host, is_ours));
    }
    const auto card = card_occupancy(config);
    if (!card) return std::nullopt;
    MemoryReading reading = device::left_by_others(*card, is_ours);
    if (config.device_budget_bytes) reading.capacity = std::min(*reading.capacity, *config.device_budget_bytes);
    return reading;
}

}  // namespace hpo::worker
