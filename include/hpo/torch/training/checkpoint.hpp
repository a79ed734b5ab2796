// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "hpo/torch/training/state.hpp"

namespace hpo::libtorch {

/// The part of a TrainingState that is not tensors.
struct CheckpointCounters {
    std::int64_t report = 0;
    std::int64_t step = 0;
    Metrics metrics;
    std::int64_t best_report = 0;
    double best_value = 0;
    Metrics best_metrics;
    double loss_scale = 1;
    std::int64_t good_steps = 0;

    static constexpr void fields(auto field) {
        field("report", &CheckpointCounters::report);
        field("step", &CheckpointCounters::step);
        field("metrics", &CheckpointCounters::metrics);
        field("best_report", &CheckpointCounters::best_report);
        field("best_value", &CheckpointCounters::best_value);
        field("best_metrics", &CheckpointCounters::best_metrics);
        field("loss_scale", &CheckpointCounters::loss_scale);
        field("good_steps", &CheckpointCounters::good_steps);
    }
};

}  // namespace hpo::libtorch

namespace hpo::libtorch {

/// The checkpoints of one trial, in a folder of its own: `step-N` is written after the report of step N. A checkpoint gets its name last,
/// so each is complete. It does not hold what follows from task, plan and seed: frozen weights, the order of the examples, random numbers.
/// So a resumed attempt ends with the same bits as an attempt that was never interrupted, if it has as many threads.
///
/// Design note: the two latest are kept. When an attempt dies, the supervisor may not know the latest yet.
class Checkpoints {
public:
    explicit Checkpoints(CheckpointPlan plan) : plan_{std::move(plan)}, latest_{plan_.resume_step} {}

    /// If the plan resumes, turns a state from before the first step into the resumed one. Throws Error with the file's name.
    void resume(TrainingState& state) const;

    /// True once a checkpoint is due.
    [[nodiscard]] bool due() const {
        return !plan_.folder.empty() && std::chrono::duration<double>(Clock::now() - written_).count() >= plan_.least_seconds;
    }
    /// Writes the state after a report. If it fails, it throws Error{store} and the earlier checkpoints stay.
    void write(TrainingState& state);

private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::filesystem::path path_of(std::int64_t step) const { return plan_.folder / ("step-" + std::to_string(step)); }

    /// Removes all other checkpoints, including those of the attempt that this one resumes.
    void remove_all_but(std::int64_t step, std::optional<std::int64_t> before) const;

    /// Throws Error with the file's name if it cannot be written. Design note: when the disk is full, LibTorch's own function throws a
    /// second time, in a destructor.
    static void save(torch::serialize::OutputArchive& archive, const std::filesystem::path& file);

    static void write(const std::filesystem::path& folder, TrainingState& state);

    static void read(const std::filesystem::path& folder, TrainingState& state);

    static std::string tensor_name(std::int64_t number) { return "tensor_" + std::to_string(number); }

    CheckpointPlan plan_;
    std::optional<std::int64_t> latest_;  ///< step of the checkpoint that was written last or resumed from
    Clock::time_point written_ = Clock::now();
};

}  // namespace hpo::libtorch
