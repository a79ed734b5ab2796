// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace quadratic {

/// (x - a)^2 + (y - b)^2 without any training. It is for trying a study script, and an example of a minimal trainer. Its intermediate
/// values fall from nearly 1 above the result to the result. The saved model is the point (x, y). The data for an evaluation is (a, b).
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
        info.saves_models = true;
        return info;
    }

    hpo::AttemptOutcome run(const hpo::TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        const Point point{settings.number("x"), settings.number("y")};
        const double value = distance(point, settings);
        hpo::AttemptOutcome outcome;
        outcome.kind = hpo::OutcomeKind::stopped;
        const std::int64_t steps = settings.whole("steps");
        progress.last_step(steps);
        for (std::int64_t step = 1; step <= steps; ++step) {
            if (!sleep(std::chrono::milliseconds{settings.whole("sleep_ms")}, progress)) return outcome;
            if (!progress.report(step, value + static_cast<double>(steps - step) / static_cast<double>(steps))) return outcome;
        }
        if (!job.model_folder.empty()) write(point, job.model_folder + point_file);
        return finished(value, settings);
    }
    hpo::AttemptOutcome evaluate(const hpo::TrainerJob& job, hpo::Progress&) override {
        const hpo::Settings settings{info(), job};
        return finished(distance(read(job.saved_model + point_file), settings), settings);
    }

    [[nodiscard]] std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob& job) override {
        return hpo::Settings::problems(info(), job);
    }

private:
    struct Point {
        double x = 0;
        double y = 0;
    };
    static constexpr const char* point_file = "/point.txt";

    static double distance(Point point, const hpo::Settings& settings) {
        const double dx = point.x - settings.number("a");
        const double dy = point.y - settings.number("b");
        return dx * dx + dy * dy;
    }
    static hpo::AttemptOutcome finished(double value, const hpo::Settings& settings) {
        const std::string data = hpo::number_text(settings.number("a")) + " " + hpo::number_text(settings.number("b"));
        return {.kind = hpo::OutcomeKind::complete, .values = {value}, .attributes = {{"data_hash", hpo::json_quote(data)}}};
    }
    static void write(Point point, const std::string& file) {
        std::ofstream out{file};
        out << hpo::number_text(point.x) << " " << hpo::number_text(point.y) << "\n";
        if (!out.flush()) throw hpo::Error{hpo::Errc::store, file + ": cannot be written"};
    }
    static Point read(const std::string& file) {
        std::ifstream in{file};
        if (!in) throw hpo::Error{hpo::Errc::bad_value, file + ": cannot be read; expected the point that a trial has saved"};
        Point point;
        if (!(in >> point.x >> point.y)) throw hpo::Error{hpo::Errc::bad_value, file + ": got no point; expected two numbers"};
        return point;
    }

    /// Returns false if the attempt was asked to stop meanwhile.
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
