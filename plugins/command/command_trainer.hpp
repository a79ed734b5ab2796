// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "card_recordings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::command {

/// Any program as a trainer. The option `arguments` is its command line. Each attempt starts the program anew. docs/any-command.md says
/// what the program finds and what it may say.
class CommandTrainer final : public hpo::Trainer {
public:
    [[nodiscard]] hpo::TrainerInfo info() const override;
    hpo::AttemptOutcome run(const hpo::TrainerJob& job, hpo::Progress& progress) override;
    /// Nothing is known of a program's shape.
    [[nodiscard]] std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    /// Looks for the program, and for names in the command line that the job does not have. Starts nothing.
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob& job) override;
    /// Of PyTorch programs on CUDA.
    [[nodiscard]] hpo::PeakPrediction predict(const hpo::TrainerJob& job, hpo::PeakSource source, hpo::Progress& progress) override;

private:
    CardRecordings recordings_;
};

}  // namespace hpo::command
