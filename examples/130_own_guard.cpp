// SPDX-License-Identifier: MIT
// A memory guard of your own. It knows what a trial of this program takes. So a trial that cannot fit is never started, and those that run
// at once fit together.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <numbers>
#include <numeric>
#include <vector>

#include "hpo/hpo.hpp"
#include "hpo/tuner/in_threads.hpp"

constexpr std::int64_t capacity = 16 << 20;

class TableGuard {
public:
    [[nodiscard]] hpo::Estimate estimate(const hpo::MemoryQuery& query) const {
        const auto points = query.params.get<std::int64_t>("points");
        return {.need = points * points * static_cast<std::int64_t>(sizeof(double)), .source = "table"};
    }
    [[nodiscard]] hpo::Evidence evidence() const { return hpo::Evidence::none; }  // the parameters are all that it looks at
};
static_assert(hpo::MemoryGuard<TableGuard>);

/// The error of the integral of sin(x) * sin(y), by a table of points x points values.
double error_of_integral(std::size_t points) {
    const double step = std::numbers::pi / static_cast<double>(points);
    const auto sine = [&](std::size_t i) { return std::sin((static_cast<double>(i) + 0.5) * step); };
    std::vector<double> table(points * points);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = sine(i / points) * sine(i % points);
    return std::abs(std::accumulate(table.begin(), table.end(), 0.0) * step * step - 4);
}

int main() {
    std::mutex mutex;
    std::int64_t held = 0, most = 0;
    const auto count = [&](std::int64_t bytes) {
        const std::lock_guard lock{mutex};
        most = std::max(most, held += bytes);
    };
    const auto job = [&](hpo::tuner::RunningJob& running) {
        const auto points = running.params().get<std::size_t>("points");
        const auto bytes = static_cast<std::int64_t>(points * points * sizeof(double));
        count(bytes);
        const double error = error_of_integral(points);
        count(-bytes);
        return error;
    };
    hpo::tuner::InThreads threads{4, job, {.capacity_bytes = capacity}};
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, TableGuard{}};
    hpo::store::InMemory store;
    const hpo::Space space = [](hpo::SpaceTrial& trial) { trial.suggest_int("points", 10, 2000); };
    const auto study = tuner.optimize(store, "integral", space, threads, {.trials = 30});
    std::printf("%zu trials ran, %zu proposals were refused\n", study.trials.size(), store.rejections(study.study.id).size());
    std::printf("best with %d points a side\n", study.best()->params.get<int>("points"));
    std::printf("tables that existed at once took %s\n", most <= capacity ? "at most 16 MiB\n" : "more than 16 MiB\n");
}
