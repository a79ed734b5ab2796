// SPDX-License-Identifier: MIT
// How fast the SQLite store is: trials a second by one and by several processes, and what it costs to open and read a study.
//   store_bench [FOLDER]      the folder decides which disk is measured; default: the current one
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"

namespace {

using Clock = std::chrono::steady_clock;
const std::vector<hpo::Direction> minimize{hpo::Direction::minimize};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
long resident_mib() {
    long pages = 0, resident = 0;
    std::ifstream{"/proc/self/statm"} >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

struct Shape {
    int params = 5;
    int reports = 0;
    bool attempts = false;
};

/// Runs `count` trials and returns the longest time that one took, in seconds.
double run_trials(const std::string& path, int count, const Shape& shape) {
    hpo::store::Sqlite store{path};
    const auto study = store.open_study("bench", minimize, hpo::Store::Open::create_or_resume);
    const auto run = store.begin_run(study.id, {});
    std::vector<hpo::Trial> trials;
    double worst = 0;
    for (int i = 0; i < count; ++i) {
        const auto begin = Clock::now();
        hpo::Trial trial = store.begin_trial(study.id, run.id);
        for (int k = 0; k < shape.params; ++k) {
            trial.params.set("parameter." + std::to_string(k), hpo::FloatDistribution{0, 1, false, std::nullopt}, (i % 97) / 97.0);
        }
        store.set_params(trial);
        hpo::Attempt attempt;
        if (shape.attempts) store.begin_attempt(trial, attempt);
        for (int step = 0; step < shape.reports; ++step) {
            store.report(trial, {step, 1.0 / (step + 1)});
            trial.intermediate[step] = 1.0 / (step + 1);
        }
        attempt.outcome = hpo::OutcomeKind::complete;
        if (shape.attempts) store.end_attempt(trial, attempt);
        trial.state = hpo::TrialState::complete;
        trial.values = {static_cast<double>(i)};
        store.finish(trial);
        trials.push_back(std::move(trial));
        store.refresh(study.id, trials);
        worst = std::max(worst, seconds_since(begin));
    }
    return worst;
}

void one_process(const std::string& path, const char* what, int count, const Shape& shape) {
    const auto begin = Clock::now();
    const double worst = run_trials(path, count, shape);
    std::printf("%-52s %8.0f trials/s   worst %6.1f ms\n", what, count / seconds_since(begin), worst * 1e3);
}

void processes(const std::string& path, int number, int each) {
    const auto begin = Clock::now();
    for (int i = 0; i < number; ++i) {
        if (fork() == 0) {
            const double worst = run_trials(path, each, {});
            std::ofstream{path + ".worst." + std::to_string(i)} << worst;
            _exit(0);
        }
    }
    for (int i = 0; i < number; ++i) wait(nullptr);
    const double seconds = seconds_since(begin);
    double worst = 0;
    for (int i = 0; i < number; ++i) {
        double value = 0;
        std::ifstream{path + ".worst." + std::to_string(i)} >> value;
        worst = std::max(worst, value);
    }
    std::printf("%2d processes, %4d trials each, 5 parameters            %8.0f trials/s   worst %6.1f ms\n", number, each,
                number * each / seconds, worst * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
    const auto folder = std::filesystem::path{argc > 1 ? argv[1] : "."} / ("store_bench." + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const auto file = [&](const char* name) { return (folder / name).string(); };
    if (fork() == 0) {  // in a process of its own, so that its memory does not count below
        run_trials(file("large.db"), 20'000, {});
        _exit(0);
    }
    wait(nullptr);
    const long before = resident_mib();
    auto begin = Clock::now();
    {
        hpo::store::Sqlite store{file("large.db")};
        std::vector<hpo::Trial> trials;
        store.refresh(store.open_study("bench", {}, hpo::Store::Open::resume).id, trials);
        std::printf("open and read %zu trials (%ju MiB on disk)             %8.3f s          %ld MiB resident (%ld before)\n",
                    trials.size(), static_cast<std::uintmax_t>(std::filesystem::file_size(file("large.db")) / (1024 * 1024)),
                    seconds_since(begin), resident_mib(), before);
        begin = Clock::now();
        constexpr int times = 1000;
        for (int i = 0; i < times; ++i) store.refresh(1, trials);
        std::printf("refresh when nothing changed                         %8.2f us\n", seconds_since(begin) / times * 1e6);
        hpo::store::Sqlite other{file("large.db")};
        double refreshing = 0;
        for (int i = 0; i < times; ++i) {
            (void)other.begin_trial(1, std::nullopt);
            begin = Clock::now();
            store.refresh(1, trials);
            refreshing += seconds_since(begin);
        }
        std::printf("refresh after one new trial of another               %8.2f us (up to %d of them running)\n", refreshing / times * 1e6,
                    times);
    }
    one_process(file("plain.db"), "1 process, 5 parameters", 5000, {});
    one_process(file("reports.db"), "1 process, 10 parameters, 10 reports", 1000, {10, 10, false});
    one_process(file("attempts.db"), "1 process, 5 parameters, an attempt", 2000, {5, 0, true});
    processes(file("four.db"), 4, 250);
    processes(file("sixteen.db"), 16, 63);

    std::filesystem::remove_all(folder);
    return 0;
}
