// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "hpo/torch/training_state.hpp"
#include "hpo/trainer/json_codec.hpp"

namespace hpo::torch {

/// The part of a TrainingState that is no tensor.
struct CheckpointCounters {
    std::int64_t report = 0;
    std::int64_t step = 0;
    Metrics metrics;
    std::int64_t best_report = 0;
    double best_value = 0;
    Metrics best_metrics;
    double loss_scale = 1;
    std::int64_t good_steps = 0;
};

}  // namespace hpo::torch

namespace hpo {

template <>
struct JsonMembers<torch::CheckpointCounters> {
    using R = torch::CheckpointCounters;
    static constexpr std::tuple list{JsonMember{"report", &R::report},         JsonMember{"step", &R::step},
                                     JsonMember{"metrics", &R::metrics},       JsonMember{"best_report", &R::best_report},
                                     JsonMember{"best_value", &R::best_value}, JsonMember{"best_metrics", &R::best_metrics},
                                     JsonMember{"loss_scale", &R::loss_scale}, JsonMember{"good_steps", &R::good_steps}};
};

}  // namespace hpo

namespace hpo::torch {

/// The checkpoints of one trial in a folder of its own: `step-N`, after the report of step N, each whole, since it gets its name last. What
/// follows from task, plan and seed is not in them: frozen weights, the order of examples, random numbers. So an attempt that goes on from
/// one ends, with as many threads, with the same bits as an attempt that was never interrupted.
///
/// Design note: the two latest are kept, because the supervisor may not have heard of the latest when the attempt dies.
class Checkpoints {
public:
    explicit Checkpoints(CheckpointPlan plan) : plan_{std::move(plan)}, latest_{plan_.resume_step} {}

    /// Makes a state of before the first step the one that the plan resumes from, if it does. Throws Error that names the file.
    void resume(TrainingState& state) const;

    /// True once a checkpoint is due.
    [[nodiscard]] bool due() const {
        return !plan_.folder.empty() && std::chrono::duration<double>(Clock::now() - written_).count() >= plan_.least_seconds;
    }
    /// Writes the state as it is after a report. Throws Error{store} when it cannot; what was there stays.
    void write(TrainingState& state);

private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::filesystem::path path_of(std::int64_t step) const { return plan_.folder / ("step-" + std::to_string(step)); }

    /// Also what an attempt left that this one goes on from.
    void remove_all_but(std::int64_t step, std::optional<std::int64_t> before) const;

    /// Throws Error naming the file when it cannot be written. Design note: LibTorch's own way to a file throws a second time, in a
    /// destructor, when the disk is full.
    static void save(::torch::serialize::OutputArchive& archive, const std::filesystem::path& file);

    static void write(const std::filesystem::path& folder, TrainingState& state);

    static void read(const std::filesystem::path& folder, TrainingState& state);

    static std::string tensor_name(std::int64_t number) { return "tensor_" + std::to_string(number); }

    CheckpointPlan plan_;
    std::optional<std::int64_t> latest_;  ///< step of the one written last, or resumed from
    Clock::time_point written_ = Clock::now();
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/training_checkpoint_inl.hpp"
#endif
