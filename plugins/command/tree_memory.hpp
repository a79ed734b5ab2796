// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/device/nvidia_device.hpp"
#include "hpo/worker/environment.hpp"

namespace command {

/// The process and all its descendants. A descendant whose parent ended counts, because the keeper of a program adopts it.
[[nodiscard]] std::vector<pid_t> process_tree(pid_t root);

/// The first card that a program with this environment sees. Nullopt without a driver.
[[nodiscard]] std::optional<hpo::device::NvidiaDevice> first_card(const hpo::worker::Environment& environment);

/// What a program takes of its device, seen from outside.
///
/// On a CPU it is host memory: the sum of the proportional set sizes of its processes (Pss in /proc/PID/smaps_rollup), so a page that
/// several of them share counts once. The resident set size stands in where the kernel does not tell. On "cuda:N" it is what NVML tells of
/// its processes.
class TreeMemory {
public:
    /// `root` itself does not count.
    TreeMemory(pid_t root, const std::string& device);
    /// Bytes. Nullopt if nothing is known now: no process is there, or the driver does not show them.
    [[nodiscard]] std::optional<std::int64_t> now() const;

private:
    pid_t root_;
    bool host_;
    std::optional<hpo::device::NvidiaDevice> card_;
};

}  // namespace command
