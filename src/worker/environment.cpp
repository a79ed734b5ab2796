// SPDX-License-Identifier: MIT
#include "hpo/worker/environment.hpp"

#include <unistd.h>
#include <algorithm>
#include <string>

namespace hpo::worker {

Environment inherited_environment() {
    Environment environment;
    for (char** entry = ::environ; entry && *entry; ++entry) environment.emplace_back(*entry);
    return environment;
}

Environment worker_environment(Environment environment, const ExecutionPlan& plan, int threads) {
    set_variable(environment, "OMP_WAIT_POLICY", "passive");
    set_variable(environment, "OMP_NUM_THREADS", std::to_string(std::max(threads, 1)));
    set_variable(environment, "CUDA_MODULE_LOADING", "LAZY");

    // An index counts within the devices that this process sees itself.
    std::string visible;
    if (const auto number = device::card_number(plan.device)) {
        visible = std::to_string(*number);
        if (const auto list = variable(environment, "CUDA_VISIBLE_DEVICES")) {
            const auto entries = device::card_entries(*list);
            visible = *number < entries.size() ? entries[*number] : "";
        }
        if (variable(environment, "CUDA_DEVICE_ORDER").value_or("").empty())
            set_variable(environment, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");  // the order of the driver's management library
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
