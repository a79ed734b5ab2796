// SPDX-License-Identifier: MIT
#pragma once

#include <torch/cuda.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_loop.hpp"
#include "hpo/torch/training_plan.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// A trainer over LibTorch: a plugin says what it is and makes a Task for each attempt, everything else is done here.
class TorchTrainer : public Trainer {
public:
    TorchTrainer() : worker_threads_{at::get_num_threads()} { MeteredAllocator::install(); }

    [[nodiscard]] TrainerInfo info() const final;

    AttemptOutcome run(const TrainerJob& job, Progress& progress) final;

    AttemptOutcome evaluate(const TrainerJob& job, Progress& progress) final;

    [[nodiscard]] std::optional<Profile> profile(const TrainerJob& job) final;

    /// Metered allocations of other threads meanwhile are taken for the attempt's.
    [[nodiscard]] PeakPrediction predict(const TrainerJob& job, PeakSource source, Progress& progress) final;

    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob& job) final {
        Silence silence;
        return stoppable_check(job, silence);
    }

    /// Logs the task's remarks on its data.
    [[nodiscard]] std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& progress) final;

protected:
    /// Name, summary, own parameters, metrics, further levers. The rest of the info is filled in by TorchTrainer.
    [[nodiscard]] virtual TrainerInfo describe() const = 0;
    /// The task of one attempt. What it throws fails the attempt.
    [[nodiscard]] virtual std::unique_ptr<Task> make_task(const Settings& settings, const TrainerJob& job) = 0;

private:
    /// What the task logs is a line of the attempt's log.
    static void keep_log(Task& task, RunningAttempt& attempt) {
        task.log_to([&attempt](std::string_view line) { attempt.progress().log(line); });
    }

    /// Calls `work(task, plan)` with what `job` asks for.
    template <class Work>
    auto with_task(const TrainerJob& job, const Work& work) {
        const Settings settings{info(), job};
        const std::unique_ptr<Task> task = task_to_train(settings, job);
        return work(*task, plan_of(settings, job));
    }

    /// A prediction takes host memory: nothing of the device and its cap that the latest attempt had is meant for it.
    static void leave_device() {
        MeteredAllocator::instance().use_device({});
        MeteredAllocator::instance().set_cap(std::nullopt);
    }

    PeakPrediction predict_by_dry_run(const TrainerJob& job, Progress& progress);

    PeakPrediction predict_by_probe(const TrainerJob& job, Progress& progress);

    /// The attempt's task. Throws Error where there is none.
    [[nodiscard]] std::unique_ptr<Task> task_of(const Settings& settings, const TrainerJob& job);
    /// The same, and there must be something to train on.
    [[nodiscard]] std::unique_ptr<Task> task_to_train(const Settings& settings, const TrainerJob& job);

    /// The device that the plan names, with the job's limits set. Throws no_device when this machine lacks it.
    static ::torch::Device prepare_device(const TrainerJob& job);

    TrainingPlan plan_of(const Settings& settings, const TrainerJob& job) const;

    [[nodiscard]] int threads_of(const Settings& settings) const {
        const auto threads = static_cast<int>(settings.whole("threads"));
        return threads > 0 ? threads : worker_threads_;
    }

    template <class Body>
    AttemptOutcome in_attempt(const TrainerJob& job, Progress& progress, const Body& body) const;

    /// The labels of every training example, one pass of the model over a few, and what the task promises of its loss and evaluation.
    std::vector<TrainerProblem> check_examples(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt) const;

    int worker_threads_;  ///< LibTorch's own choice, which heeds the worker's OMP_NUM_THREADS
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/torch_trainer_inl.hpp"
#endif
