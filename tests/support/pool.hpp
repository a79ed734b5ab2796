// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "hpo/base/cases.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "support/eventually.hpp"

namespace hpo::test {

using namespace std::chrono_literals;

inline worker::PoolConfig fault_config(std::size_t workers = 1) {
    worker::PoolConfig config;
    config.worker_program = HPO_BINARY_DIR "/bin/hpo-worker";
    config.plugin_folders = {HPO_BINARY_DIR "/tests/trainers"};
    config.trainer = "fault";
    config.workers = workers;
    config.stop_grace = 300ms;
    config.kill_grace = 300ms;
    return config;
}

inline Job fault_job(std::int64_t trial, const std::string& fault = "none", double x = 0.5) {
    Job job;
    job.study = "test";
    job.trial = trial;
    job.seed = 7;
    job.params.set("x", FloatDistribution{-1e9, 1e9}, x);
    job.params.set("fault", CategoricalDistribution{{fault}}, 0);
    return job;
}
inline Job with(Job job, const std::string& name, double value) {
    job.params.set(name, FloatDistribution{-1e9, 1e9}, value);
    return job;
}

/// Keeps what an executor tells.
struct Record final : ExecutorEvents {
    EventAnswer on(std::int64_t trial, AttemptEvent event) override {
        EventAnswer answer;
        std::visit(Cases{[&](const AttemptStarted& started) { pids[trial] = started.worker_pid; },
                         [&](const Report& report) {
                             reports[trial].push_back(report);
                             answer.goes_on = report.step < stop_at_step;
                         },
                         [&](const Question& question) { answer = knows_no_answer(question); },
                         [&](const MemoryMark& mark) { marks[trial].push_back(mark); },
                         [&](const Checkpoint& checkpoint) { checkpoints[trial].push_back(checkpoint.step); },
                         [&](AttemptOutcome& outcome) {
                             ends[trial].push_back(std::move(outcome));
                             ++ended;
                         },
                         [](const auto& /*for the executor*/) {}},
                   event);
        return answer;
    }
    std::map<std::int64_t, std::int64_t> pids;
    std::map<std::int64_t, std::vector<Report>> reports;
    std::map<std::int64_t, std::vector<MemoryMark>> marks;
    std::map<std::int64_t, std::vector<std::int64_t>> checkpoints;
    std::map<std::int64_t, std::vector<AttemptOutcome>> ends;
    std::size_t ended = 0;
    std::int64_t stop_at_step = 1LL << 60U;
};

/// Waits until `done`, at most 120 s; false when it did not come to that.
template <class F>
bool wait_until(Executor& pool, Record& record, F&& done) {
    return eventually(done, 120s, [&] { pool.wait(record, 0.1); });
}

/// Runs one job to its end.
inline AttemptOutcome run(Executor& pool, const Job& job) {
    Record record;
    pool.submit(job, record);
    if (!wait_until(pool, record, [&] { return record.ended > 0; })) return {.failure = Failure{.message = "test: no end came"}};
    return record.ends.at(job.trial).at(0);
}

inline std::size_t entries(const char* folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator{folder}) ++count;
    return count;
}
inline std::size_t open_descriptors() { return entries("/proc/self/fd"); }

/// Processes whose parent is this one, zombies included.
inline std::vector<std::int64_t> children() {
    std::vector<std::int64_t> found;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream file{task.path() / "children"};
        for (std::int64_t pid = 0; file >> pid;) found.push_back(pid);
    }
    return found;
}

/// False also for a zombie.
inline bool lives(std::int64_t pid) { return identify_process(pid).has_value(); }

}  // namespace hpo::test
