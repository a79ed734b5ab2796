// SPDX-License-Identifier: MIT
// Trials a second of a trivial objective in this process, each trial durable against a crash of the process.
//   in_process_bench [FILE]      the store's file; made anew
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "hpo/hpo.hpp"
#include "hpo/store/sqlite.hpp"

int main(int argc, char** argv) {
    const std::string file = argc > 1 ? argv[1] : "in_process_bench.db";
    const auto objective = [](hpo::LiveTrial& trial) {
        double sum = 0;
        for (const char* name : {"a", "b", "c", "d", "e"}) {
            const double x = trial.suggest_float(name, -5, 5);
            sum += x * x;
        }
        return sum;
    };
    std::printf("store      trials  trials/s\n");
    const auto measure = [&](const char* store_name, auto& store) {
        for (const std::int64_t trials : {1000, 5000}) {
            hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
            const auto begin = std::chrono::steady_clock::now();
            tuner.optimize(store, std::to_string(trials), objective, {.trials = trials});
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            std::printf("%-9s  %6lld  %8.0f\n", store_name, static_cast<long long>(trials), static_cast<double>(trials) / seconds);
        }
    };
    hpo::store::InMemory in_memory;
    measure("in memory", in_memory);
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
    hpo::store::Sqlite sqlite{file};
    measure("SQLite", sqlite);
}
