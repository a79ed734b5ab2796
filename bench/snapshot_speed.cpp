// SPDX-License-Identifier: MIT
// How long hpo-analyze takes for memory snapshots of PyTorch, and how much memory: of 20,000 events, and of 100 MB. The recorded program is
// a training of many steps: weights that stay, activations that are given back in reverse, a few temporaries.
//   snapshot_speed HPO-ANALYZE [MEGABYTES]      100 by default
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "hpo/core/seed.hpp"

extern char** environ;

namespace {

using namespace hpo::allocator;

AllocationTrace training(std::int64_t events) {
    hpo::Rng rng{3};
    AllocationTrace trace;
    for (int line = 0; line < 200; ++line) trace.scopes.push_back("module_" + std::to_string(line) + ".forward aten::linear");
    const auto take = [&](std::int64_t bytes) {
        return trace.take({.bytes = bytes, .scope = static_cast<std::uint32_t>(1 + rng.below(200))});
    };
    trace.enter("build");
    for (int i = 0; i < 300; ++i) take(static_cast<std::int64_t>(1 + rng.below(32 << 20)));
    while (static_cast<std::int64_t>(trace.events.size()) < events / 3) {  // an allocation is written as three events
        trace.phases.push_back({trace.events.size(), "forward"});
        const double shape = 0.5 + rng.uniform();
        std::vector<std::int64_t> kept;
        for (int i = 0; i < 300; ++i) {
            kept.push_back(take(static_cast<std::int64_t>(shape * static_cast<double>(1 + rng.below(24 << 20)))));
            trace.give_back(take(static_cast<std::int64_t>(1 + rng.below(8 << 20))));
        }
        trace.phases.push_back({trace.events.size(), "backward"});
        for (; !kept.empty(); kept.pop_back()) trace.give_back(kept.back());
    }
    return trace;
}

void measure(const std::string& program, const std::string& file) {
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    std::string words[] = {program, "snapshot", file};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    const auto begin = std::chrono::steady_clock::now();
    pid_t child = 0;
    if (posix_spawn(&child, program.c_str(), &quiet, nullptr, arguments, environ) != 0) std::exit(1);
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    if (status != 0) std::exit(1);
    std::printf("%8.1f MB %8.2f s %8.0f MB of memory\n", static_cast<double>(std::filesystem::file_size(file)) / 1e6, wall.count(),
                static_cast<double>(used.ru_maxrss) / 1e3);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string file = "snapshot_speed.pickle";
    constexpr std::int64_t events_of_a_megabyte = 16'700;
    const std::int64_t many = (argc > 2 ? std::atoll(argv[2]) : 100) * events_of_a_megabyte;
    for (const std::int64_t events : {std::int64_t{20'000}, many}) {
        write_snapshot(file, training(events), {});
        std::printf("%8lld events, ", static_cast<long long>(events));
        measure(argv[1], file);
    }
    std::filesystem::remove(file);
    return 0;
}
