// SPDX-License-Identifier: MIT
// A recovery policy of your own. A trial that runs out of memory goes on with half of the micro-batch, as often as that may help. Its
// effective batch stays the same.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "hpo/hpo.hpp"

class Halve {
public:
    [[nodiscard]] hpo::Recovery recover(const hpo::FailedAttempt& failed) const {
        using Action = hpo::Recovery::Action;
        const auto micro = failed.attempt.plan.effective_micro_batch();
        if (failed.failure.kind != hpo::FailureKind::out_of_memory) return hpo::recovery_of(failed, Action::fail, "no lack of memory");
        if (!micro || *micro <= 1) return hpo::recovery_of(failed, Action::prune, "no smaller batch");
        hpo::Recovery answer = hpo::recovery_of(failed, Action::retry, "half of the micro-batch");
        answer.plan.micro_batch = *micro / 2;
        return answer;
    }
};
static_assert(hpo::RecoveryPolicy<Halve>);

/// Fits the slope of y = 3 x by gradient descent. Each pass needs 1 KiB for an example of the micro-batch.
double loss(hpo::tuner::RunningJob& job) {
    const std::int64_t batch = *job.plan().effective_batch;
    const std::int64_t micro = *job.plan().effective_micro_batch();
    const std::int64_t wanted = micro * 1024;
    if (wanted > *job.memory_limit_bytes()) throw hpo::tuner::OutOfMemory{{.requested_bytes = wanted, .allocated_bytes = 0}};
    std::vector<double> features(static_cast<std::size_t>(wanted) / sizeof(double));
    job.memory("training_start", {.allocated = wanted, .peak_allocated = wanted});
    double slope = 0;
    for (int step = 0; step < 50; ++step) {
        double gradient = 0;
        for (std::int64_t first = 0; first < batch; first += micro) {
            for (std::int64_t i = first; i < std::min(batch, first + micro); ++i) {
                double& x = features[static_cast<std::size_t>(i - first)];
                x = static_cast<double>(i + 1) / static_cast<double>(batch);
                gradient += 2 * (slope - 3) * x * x;
            }
        }
        slope -= job.params().get<double>("lr") * gradient / static_cast<double>(batch);
    }
    return std::abs(slope - 3);
}

int main() {
    hpo::tuner::InProcess executor{loss, {.capacity_bytes = 100 << 10}};
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, Halve{}};
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        trial.suggest_int("batch", 16, 1024, {.log = true});
        trial.suggest_float("lr", 0.1, 1);
    };
    const auto study =
        tuner.optimize(hpo::store::InMemory{}, "slope", space, executor, {.trials = 5, .effective_batch_parameter = "batch"});
    for (const hpo::Trial& trial : study.trials) {
        std::printf("trial %d, batch %d:", static_cast<int>(trial.number), trial.params.get<int>("batch"));
        for (const hpo::Attempt& attempt : trial.attempts)
            std::printf(" micro-batch %d %s%s", static_cast<int>(*attempt.plan.effective_micro_batch()),
                        attempt.failure ? to_text(attempt.failure->kind).data() : "fits", attempt.failure ? "," : "\n");
    }
}
