// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/device/nvidia_device.hpp"
#include "hpo/worker/environment.hpp"

namespace hpo::command {

/// The process and all its descendants. A descendant whose parent ended counts, because the keeper of a program adopts it.
[[nodiscard]] std::vector<pid_t> process_tree(pid_t root);

/// The first card that a program with this environment sees. Nullopt without a driver.
[[nodiscard]] std::optional<hpo::device::NvidiaDevice> first_card(const hpo::worker::Environment& environment);

/// What a program takes of its device, seen from outside.
///
/// On "cuda:N" it is what NVML tells of its processes. On a CPU it is host memory, as /proc/PID/smaps_rollup tells it:
///
/// - Of a program that was started: the sum of the proportional set sizes (Pss) of its processes. So a page that several of them share
///   counts once. The resident set size stands in where the kernel does not tell.
/// - Of a copy of a program: what the copy does not share with that program. The program is there once, however many copies run. By Pss a
///   copy would seem to need less the more others run. What the copy inherits only becomes less, until it shares memory with children of
///   its own. So the least that it was seen to share is the program's, and the rest counts. What its children have alone is added. The
///   kernel remembers the largest size of the copy, so no moment is missed.
class TreeMemory {
public:
    struct Look {
        std::int64_t bytes = 0;  ///< now
        std::int64_t most = 0;   ///< between the looks, too, if that is known
    };
    /// `root` itself does not count. `copy`: the child of `root` that is a copy of a running program.
    TreeMemory(pid_t root, const std::string& device, std::optional<pid_t> copy = std::nullopt);
    /// Nullopt if nothing is known now: no process is there, or the driver does not show them.
    [[nodiscard]] std::optional<Look> now();
    /// Kills what any look saw of a copy's tree and is still there. For a tree whose root was killed: nobody else finds its members.
    void kill_seen() const;

private:
    struct Process {
        pid_t pid = 0;
        std::string start{};  ///< when it began, as the kernel counts: another process may get its number
    };
    void remember(const std::vector<pid_t>& tree);
    [[nodiscard]] std::optional<Look> on_host(const std::vector<pid_t>& tree);

    pid_t root_;
    std::optional<pid_t> copy_;
    std::vector<Process> seen_;
    bool host_;
    std::optional<std::int64_t> of_program_;  ///< bytes of the program that the copy has inherited and not changed
    std::optional<hpo::device::NvidiaDevice> card_;
};

}  // namespace hpo::command
