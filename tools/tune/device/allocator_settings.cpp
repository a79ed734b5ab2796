// SPDX-License-Identifier: MIT
#include "tune/device/allocator_settings.hpp"

#include <cstdlib>

#include "hpo/allocator/conf.hpp"
#include "hpo/base/error.hpp"

namespace hpo::tune {

void inherit_allocator_settings(ExecutionPlan& plan) {
    if (is_cpu(plan.device) || !plan.allocator_settings.empty()) return;
    for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
        if (const char* inherited = std::getenv(name); inherited && plan.allocator_settings.empty()) plan.allocator_settings = inherited;
    }
}

std::optional<std::string> refused_allocator(const ExecutionPlan& from, const ExecutionPlan& to, const TrainerInfo& info) {
    const auto version = allocator::parse_libtorch_version(info.libtorch_version);
    if (!version || is_cpu(to.device)) return std::nullopt;
    try {
        if (to.expandable_segments && !from.expandable_segments)
            static_cast<void>(allocator::read_allocator_conf("expandable_segments:True", *version, "plan"));
        if (to.allocator_settings != from.allocator_settings)
            static_cast<void>(allocator::read_allocator_conf(to.allocator_settings, *version, "plan.allocator_settings"));
    } catch (const Error& error) {
        return error.what();
    }
    return std::nullopt;
}

}  // namespace hpo::tune
