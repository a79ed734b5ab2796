// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/plan.hpp"
#include "hpo/core/study.hpp"
#include "hpo/torch/adaptation/tuning.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "hpo/torch/training/schedule.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::libtorch {

/// Whether and how an attempt keeps checkpoints (training/checkpoint.hpp).
struct CheckpointPlan {
    std::filesystem::path folder;             ///< if empty, no checkpoints
    std::optional<std::int64_t> resume_step;  ///< the reported step to resume after; nullopt: start anew
    double least_seconds = 0;                 ///< between two checkpoints
};

/// How the loop trains. This part of a job is the same for every plugin.
struct TrainingPlan {
    std::int64_t epochs = 1;
    std::int64_t reports_per_epoch = 1;  ///< evaluations, evenly spaced: report n is made after n / reports_per_epoch epochs
    std::int64_t effective_batch = 1;    ///< examples for one optimizer step: `batch` times train.grad_accum
    std::int64_t batch = 1;              ///< examples of one batch: train.batch_size, unless the job's plan sets another
    std::int64_t micro_batch = 1;        ///< examples in one pass, at most `batch`
    std::int64_t evaluation_batch = 1;
    Precision precision = Precision::fp32;
    OptimizerSettings optimizer;
    double clip_norm = 0;  ///< largest joint norm of a step's gradients; 0: no limit
    Schedule schedule;
    TuningSettings tuning;
    std::int64_t patience = 0;        ///< epochs in a row without a new best before the end; 0: no limit, and the last epoch counts
    std::int64_t loader_workers = 0;  ///< threads that prepare batches
    std::string metric;               ///< the objective
    CheckpointPlan checkpoints;
    std::filesystem::path model_folder;  ///< where the finished model is written; if empty, it is not
    Direction direction = Direction::maximize;

    /// The step of the last report.
    [[nodiscard]] std::int64_t last_report() const { return epochs * reports_per_epoch; }
};

/// The parameters and options of the loop itself. TorchTrainer adds them to those of a plugin.
[[nodiscard]] std::vector<TrainerParameter> training_parameters();

/// The names of a list: "query, value" gives two.
[[nodiscard]] std::vector<std::string> listed_names(std::string_view text);

/// The job's training plan. Throws Error for a batch without examples, and for a precision that the device does not have.
[[nodiscard]] TrainingPlan training_plan(const Settings& settings, const TrainerJob& job);

}  // namespace hpo::libtorch
