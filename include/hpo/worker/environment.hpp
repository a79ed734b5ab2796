// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/plan.hpp"

namespace hpo::worker {

/// NAME=VALUE, at most once for each name.
using Environment = std::vector<std::string>;

inline void set_variable(Environment& environment, const std::string& name, std::string_view value) {
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    environment.push_back(name + "=" + std::string{value});
}

/// This process's own environment, to be passed on.
[[nodiscard]] inline Environment inherited_environment() {
    Environment environment;
    for (char** entry = ::environ; entry && *entry; ++entry) environment.emplace_back(*entry);
    return environment;
}

/// The device of a plan as its worker sees it: a worker for "cuda:1" has that device alone, and calls it "cuda:0".
[[nodiscard]] inline std::string device_inside(const std::string& device) { return device.starts_with("cuda") ? "cuda:0" : device; }

/// What must stand in a worker's environment before it starts, since LibTorch and OpenMP read it only once: threads
/// that sleep while they wait, their number, the devices it may see, the allocator's settings. Two plans with the same
/// result can share a worker.
[[nodiscard]] inline Environment worker_environment(Environment environment, const ExecutionPlan& plan, int threads) {
    set_variable(environment, "OMP_WAIT_POLICY", "passive");
    set_variable(environment, "OMP_NUM_THREADS", std::to_string(std::max(threads, 1)));
    set_variable(environment, "CUDA_MODULE_LOADING", "LAZY");

    // An index counts within the devices that we see ourselves.
    std::string visible;
    if (plan.device.starts_with("cuda")) {
        const std::string_view text{plan.device};
        std::size_t index = 0;
        if (const auto colon = text.find(':'); colon != std::string_view::npos) {
            std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
        }
        visible = std::to_string(index);
        for (const std::string& entry : environment) {
            if (!entry.starts_with("CUDA_VISIBLE_DEVICES=")) continue;
            std::string_view list = std::string_view{entry}.substr(entry.find('=') + 1);
            for (std::size_t i = 0; i < index && !list.empty(); ++i) list.remove_prefix(std::min(list.find(',') + 1, list.size()));
            visible = list.substr(0, list.find(','));
        }
    }
    set_variable(environment, "CUDA_VISIBLE_DEVICES", visible);

    std::string settings = plan.expandable_segments ? "expandable_segments:True" : "";
    if (!plan.allocator_settings.empty()) settings += (settings.empty() ? "" : ",") + plan.allocator_settings;
    if (!settings.empty()) {
        set_variable(environment, "PYTORCH_CUDA_ALLOC_CONF", settings);
        set_variable(environment, "PYTORCH_ALLOC_CONF", settings);  // its name since LibTorch 2.9
    }
    return environment;
}

}  // namespace hpo::worker
