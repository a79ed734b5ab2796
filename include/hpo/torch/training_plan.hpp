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
#include "hpo/torch/optimizer.hpp"
#include "hpo/torch/schedule.hpp"
#include "hpo/torch/tuning.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// Whether and how an attempt keeps checkpoints (training_checkpoint.hpp).
struct CheckpointPlan {
    std::filesystem::path folder;             ///< empty: none
    std::optional<std::int64_t> resume_step;  ///< the reported step after which it goes on; nothing: it begins anew
    double least_seconds = 0;                 ///< between two of them
};

/// How the loop trains: the part of a job that is the same for every plugin.
struct TrainingPlan {
    std::int64_t epochs = 1;
    std::int64_t reports_per_epoch = 1;  ///< evaluations, evenly spaced; the report of step n is made after n / reports_per_epoch epochs
    std::int64_t effective_batch = 1;    ///< examples for one optimizer step: batches of train.batch_size, train.grad_accum of them
    std::int64_t batch = 1;              ///< examples of one of them
    std::int64_t micro_batch = 1;        ///< examples in one pass, at most `batch`
    std::int64_t evaluation_batch = 1;
    Precision precision = Precision::fp32;
    OptimizerSettings optimizer;
    double clip_norm = 0;  ///< longest that a step's gradients may be all together; 0: any length
    Schedule schedule;
    TuningSettings tuning;
    std::int64_t patience = 0;        ///< epochs in a row that may be no better than the best; 0: any number, and the last one counts
    std::int64_t loader_workers = 0;  ///< threads that prepare batches
    std::string metric;               ///< the objective
    CheckpointPlan checkpoints;
    std::filesystem::path model_folder;  ///< where the finished model is written; empty: nowhere
    Direction direction = Direction::maximize;

    /// The step of the last report.
    [[nodiscard]] std::int64_t last_report() const { return epochs * reports_per_epoch; }
};

/// The parameters and options that the loop itself understands; TorchTrainer adds them to a plugin's own.
[[nodiscard]] std::vector<TrainerParameter> training_parameters();

/// "query, value" as two names.
[[nodiscard]] std::vector<std::string> listed_names(std::string_view text);

/// The job's training plan. Throws Error for a plan without examples and for arithmetic that the loop does not have.
[[nodiscard]] TrainingPlan training_plan(const Settings& settings, const TrainerJob& job);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/training_plan_inl.hpp"
#endif
