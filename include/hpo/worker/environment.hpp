// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/device_word.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/device/visible_cards.hpp"

namespace hpo::worker {

/// NAME=VALUE, at most once for each name.
using Environment = std::vector<std::string>;

inline void remove_variable(Environment& environment, const std::string& name) {
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
}

inline void set_variable(Environment& environment, const std::string& name, std::string_view value) {
    remove_variable(environment, name);
    environment.push_back(name + "=" + std::string{value});
}

[[nodiscard]] inline std::optional<std::string> variable(const Environment& environment, const std::string& name) {
    const auto entry = std::ranges::find_if(environment, [&](const std::string& text) { return text.starts_with(name + "="); });
    return entry == environment.end() ? std::nullopt : std::optional{entry->substr(name.size() + 1)};
}

/// The environment of this process, for the processes that it starts.
[[nodiscard]] Environment inherited_environment();

/// Which cards "cuda:0" and so on are in workers that are started with this environment. They are ordered by PCI bus, unless the
/// environment sets another order.
[[nodiscard]] inline device::CardSelection card_selection(const Environment& environment) {
    const std::string order = variable(environment, "CUDA_DEVICE_ORDER").value_or("");
    return {.list = variable(environment, "CUDA_VISIBLE_DEVICES"), .by_pci_bus = order.empty() || order == "PCI_BUS_ID"};
}

/// The device of a plan as its worker sees it. A worker for "cuda:1" sees only that device, and calls it "cuda:0". One for "cpu:1" calls it
/// "cpu".
[[nodiscard]] inline std::string device_inside(const std::string& device) {
    return device.starts_with("cuda") ? "cuda:0" : is_cpu(device) ? "cpu" : device;
}

/// Adds to an environment what a worker needs before it starts, because LibTorch and OpenMP read it only once. It sets the number of
/// threads, that waiting threads sleep, which devices are visible in which order, and the allocator's settings. Two plans with the same
/// result can share a worker.
[[nodiscard]] Environment worker_environment(Environment environment, const ExecutionPlan& plan, int threads);

}  // namespace hpo::worker
