// SPDX-License-Identifier: MIT
#pragma once

#include <torch/cuda.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/loop.hpp"
#include "hpo/torch/training/plan.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::libtorch {

/// A trainer over LibTorch. A plugin describes itself and makes a Task for each attempt. This class does everything else.
class TorchTrainer : public Trainer {
public:
    TorchTrainer() : worker_threads_{at::get_num_threads()} { MeteredAllocator::install(); }

    [[nodiscard]] TrainerInfo info() const final;

    AttemptOutcome run(const TrainerJob& job, Progress& progress) final;

    AttemptOutcome evaluate(const TrainerJob& job, Progress& progress) final;

    [[nodiscard]] std::optional<Profile> profile(const TrainerJob& job) final;

    /// Allocations of other threads at the same time count as the attempt's.
    [[nodiscard]] PeakPrediction predict(const TrainerJob& job, PeakSource source, Progress& progress) final;

    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob& job) final {
        Silence silence;
        return stoppable_check(job, silence);
    }

    /// Also logs the task's remarks on its data.
    [[nodiscard]] std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& progress) final;

    /// Measures with the allocator, the limits and the LibTorch of attempts.
    [[nodiscard]] std::vector<DeviceFinding> measure(const TrainerJob& job, Progress& progress) final;

protected:
    /// The plugin's name, summary, parameters, metrics and further levers. TorchTrainer adds the rest of the info.
    [[nodiscard]] virtual TrainerInfo describe() const = 0;
    /// The task of one attempt. An exception fails the attempt.
    [[nodiscard]] virtual std::unique_ptr<Task> make_task(const Settings& settings, const TrainerJob& job) = 0;

private:
    /// Sends the lines of the task's log to the attempt's log.
    static void keep_log(Task& task, RunningAttempt& attempt) {
        task.log_to([&attempt](std::string_view line) { attempt.progress().log(line); });
    }

    /// Calls `work(task, plan)` with the job's task and plan.
    template <class Work>
    auto with_task(const TrainerJob& job, const Work& work) {
        const Settings settings{info(), job};
        const std::unique_ptr<Task> task = task_to_train(settings, job);
        return work(*task, plan_of(settings, job));
    }

    /// Takes this process off the device and the cap of the latest attempt. A prediction uses host memory, which neither of them should
    /// count.
    static void leave_device() {
        MeteredAllocator::instance().use_device({});
        MeteredAllocator::instance().set_cap(std::nullopt);
    }

    PeakPrediction predict_on_virtual_card(const TrainerJob& job, Progress& progress);

    PeakPrediction predict_by_dry_run(const TrainerJob& job, Progress& progress);

    PeakPrediction predict_by_probe(const TrainerJob& job, Progress& progress);

    /// The attempt's task. Throws Error if the trainer made none.
    [[nodiscard]] std::unique_ptr<Task> task_of(const Settings& settings, const TrainerJob& job);
    /// The same. Also throws Error if it has no training examples.
    [[nodiscard]] std::unique_ptr<Task> task_to_train(const Settings& settings, const TrainerJob& job);

    /// The plan's device, with the job's limits set. Throws no_device if this machine lacks it.
    static torch::Device prepare_device(const TrainerJob& job);

    TrainingPlan plan_of(const Settings& settings, const TrainerJob& job) const;

    [[nodiscard]] int threads_of(const Settings& settings) const {
        const auto threads = static_cast<int>(settings.whole("threads"));
        return threads > 0 ? threads : worker_threads_;
    }

    template <class Body>
    AttemptOutcome in_attempt(const TrainerJob& job, Progress& progress, const Body& body) const;

    /// Checks the labels and ids of every training example, makes one pass of the model over a few examples, and runs TaskChecks.
    /// If these data are looked at for the first time, it also runs DataScan and logs what was looked at.
    std::vector<TrainerProblem> check_examples(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt,
                                               bool is_first) const;
    /// The mean loss of a few examples beside what guessing gives, in words. It holds two examples at a time.
    [[nodiscard]] static std::string first_loss_text(const Task& task, Model& model, std::int64_t classes, RunningAttempt& attempt);

    using CheckedData = std::tuple<Values, std::int64_t, std::int64_t>;
    std::optional<CheckedData> checked_data_;  ///< the options and the sizes of the data that a check saw last

    int worker_threads_;  ///< LibTorch's default, which follows the worker's OMP_NUM_THREADS
};

}  // namespace hpo::libtorch
