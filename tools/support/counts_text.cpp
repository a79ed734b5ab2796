// SPDX-License-Identifier: MIT
#include "support/counts_text.hpp"

#include <cstddef>
#include <string_view>

#include "support/text.hpp"

namespace hpo::tools {

std::string states_text(const analysis::StudyCounts& counts) {
    std::string text;
    const auto add = [&](std::size_t count, std::string_view word) {
        if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string{word};
    };
    add(counts.complete, "complete");
    add(counts.pruned, "pruned");
    add(counts.failed, "failed");
    add(counts.interrupted, "interrupted");
    add(counts.running, "running");
    add(counts.waiting, "waiting");
    if (text.empty()) return "no trial yet";
    if (counts.infeasible > 0) text += "; " + std::to_string(counts.infeasible) + " of them infeasible";
    return text;
}

std::string oom_text(const analysis::StudyCounts& counts) {
    std::string text =
        counted(counts.oom_attempts, "attempt") + " out of memory, " + counted(counts.recovered_trials, "trial") + " recovered";
    if (counts.recovered_otherwise > 0) text += "; " + counted(counts.recovered_otherwise, "trial") + " recovered from other failures";
    return counts.killed_attempts == 0 ? text : text + "; " + killed_text(counts);
}

std::string killed_text(const analysis::StudyCounts& counts) {
    std::string text;
    const auto add = [&](std::size_t attempts, const std::string& how) {
        if (attempts > 0) text += (text.empty() ? "" : ", ") + counted(attempts, "attempt") + (attempts == 1 ? " was " : " were ") + how;
    };
    add(counts.ended_by_sigkill, "ended by SIGKILL, which hpo did not send");
    add(counts.lost_with_run, counts.lost_with_run == 1 ? "lost because its run is gone" : "lost because their runs are gone");
    add(counts.killed_attempts - counts.ended_by_sigkill - counts.lost_with_run, "lost, nobody knows why");
    return text;
}

}  // namespace hpo::tools
