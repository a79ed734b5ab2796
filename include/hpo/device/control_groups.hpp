// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hpo::device {

/// A control group that this process is in, as the kernel tells it.
struct ControlGroup {
    std::string controllers;     ///< of version 1, separated by commas: "cpu,cpuacct", "memory"
    std::filesystem::path path;  ///< from the top of the hierarchy, "/" for the top. A container may see its own group as the top instead
    [[nodiscard]] bool is_unified() const { return controllers.empty(); }  ///< version 2
};

/// Reads /proc/self/cgroup (cgroups(7)). Empty if the kernel tells none.
[[nodiscard]] std::vector<ControlGroup> own_control_groups(const std::filesystem::path& root = "/");

}  // namespace hpo::device
