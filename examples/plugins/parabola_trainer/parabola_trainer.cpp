// SPDX-License-Identifier: MIT
// The trainer 'parabola_trainer', without LibTorch: (x - 1)^2 in a few steps. Replace `run` by your training.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/declare.hpp"
#include "hpo/trainer/plugin.hpp"
#include "hpo/trainer/settings.hpp"

namespace {

namespace declare = hpo::declare;

class PlainTrainer final : public hpo::Trainer {
public:
    hpo::TrainerInfo info() const override {
        return {.name = "parabola_trainer",
                .summary = "(x - 1)^2, approached step by step",
                .parameters = {declare::real("x", -10, 10, {.standard = 0.0, .help = "where the parabola is measured"}),
                               declare::integer("steps", 1, 1000, {.standard = 5, .help = "intermediate values"})},
                .metrics = {{"value", hpo::Direction::minimize, "(x - 1)^2"}}};
    }
    hpo::AttemptOutcome run(const hpo::TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};  // refuses what info() does not allow
        const double distance = settings.number("x") - 1;
        const std::int64_t steps = settings.whole("steps");
        progress.last_step(steps);  // a trial that has come so far is not pruned any more
        hpo::AttemptOutcome outcome;
        outcome.kind = hpo::OutcomeKind::stopped;
        for (std::int64_t step = 1; step <= steps; ++step) {
            if (progress.stop_requested()) return outcome;
            const double value = distance * distance + 1.0 / static_cast<double>(step);
            if (!progress.report(step, value)) return outcome;  // a pruner, or somebody who stops the study
        }
        outcome.kind = hpo::OutcomeKind::complete;
        outcome.values = {distance * distance};
        outcome.attributes.set_number("steps_made", steps);
        return outcome;
    }
    std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob& job) override { return hpo::Settings::problems(info(), job); }
};

}  // namespace

HPO_TRAINER_PLUGIN(PlainTrainer);
