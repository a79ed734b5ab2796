// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace quadratic {

/// (x - a)^2 + (y - b)^2 without any training: for trying a study script, and as the least that a trainer can be. Its
/// intermediate values fall from nearly 1 above the result to the result.
class Quadratic final : public hpo::Trainer {
public:
    [[nodiscard]] hpo::TrainerInfo info() const override {
        hpo::TrainerInfo info;
        info.name = "quadratic";
        info.summary = "(x - a)^2 + (y - b)^2: no training, for trying scripts";
        info.parameters = {
            {"x", "float", "", 0.0, "first coordinate"},
            {"y", "float", "", 0.0, "second coordinate"},
            {"a", "float", "", 1.0, "the best x"},
            {"b", "float", "", -1.0, "the best y"},
            {"steps", "int", "[1, 1000000]", std::int64_t{1}, "intermediate values"},
            {"sleep_ms", "int", "[0, 3600000]", std::int64_t{0}, "milliseconds that each step takes"},
        };
        info.metrics = {{"value", hpo::Direction::minimize, "the distance squared"}};
        return info;
    }

    hpo::AttemptOutcome run(const hpo::TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        const double dx = settings.number("x") - settings.number("a");
        const double dy = settings.number("y") - settings.number("b");
        const double value = dx * dx + dy * dy;
        hpo::AttemptOutcome outcome;
        outcome.kind = hpo::OutcomeKind::stopped;
        const std::int64_t steps = settings.whole("steps");
        for (std::int64_t step = 1; step <= steps; ++step) {
            if (!sleep(std::chrono::milliseconds{settings.whole("sleep_ms")}, progress)) return outcome;
            if (!progress.report(step, value + static_cast<double>(steps - step) / static_cast<double>(steps))) return outcome;
        }
        outcome.kind = hpo::OutcomeKind::complete;
        outcome.values = {value};
        return outcome;
    }

    [[nodiscard]] std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob& job) override {
        return hpo::Settings::problems(info(), job);
    }

private:
    /// False when somebody asked the attempt to end meanwhile.
    static bool sleep(std::chrono::milliseconds duration, const hpo::Progress& progress) {
        const auto end = std::chrono::steady_clock::now() + duration;
        while (!progress.stop_requested()) {
            const auto left = end - std::chrono::steady_clock::now();
            if (left <= left.zero()) return true;
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds{5}));
        }
        return false;
    }
};

}  // namespace quadratic
