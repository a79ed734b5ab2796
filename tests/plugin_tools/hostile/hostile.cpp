// SPDX-License-Identifier: MIT
// A trainer that breaks the rule of the contract that HPO_TEST_FLAW names, and keeps every other one.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "hpo/trainer/declare.hpp"
#include "hpo/trainer/plugin.hpp"
#include "hpo/trainer/settings.hpp"

namespace {

bool flaw(std::string_view name) {
    const char* asked = std::getenv("HPO_TEST_FLAW");
    return asked && name == asked;
}

/// What a library does by itself while it is loaded.
[[maybe_unused]] const bool loaded = [] {
    if (flaw("crash_on_load")) std::raise(SIGSEGV);
    if (flaw("exit_on_load")) std::exit(0);
    if (flaw("hang_on_load")) std::this_thread::sleep_for(std::chrono::hours{1});
    return true;
}();

class Hostile final : public hpo::Trainer {
public:
    Hostile() {
        if (flaw("constructor")) throw std::runtime_error{"no licence\nask its owner"};
        if (flaw("crash_in_constructor")) std::raise(SIGSEGV);
    }
    [[nodiscard]] hpo::TrainerInfo info() const override {
        if (flaw("info")) throw std::runtime_error{"no list of parameters"};
        hpo::TrainerInfo info{
            .name = "hostile",
            .summary = "for tests",
            .parameters = {{"x", "float", "[0, 1]", 0.5, "a number"}, {"kind", "one of a, b", "", std::string{"a"}, "a word"}},
            .metrics = {{"score", hpo::Direction::maximize, "the higher, the better"}},
            .levers = {"micro_batch"}};
        info.saves_models = true;
        if (flaw("required")) info.parameters[0].standard = hpo::Value{};
        if (flaw("twice")) info.parameters.push_back(info.parameters[0]);
        if (flaw("type")) info.parameters[0].type = "double";
        if (flaw("lever")) info.levers = {"micro_bach"};
        if (flaw("range")) info.parameters[0].range = "0..1";
        if (flaw("default")) info.parameters[0].standard = 7.0;
        if (flaw("unknown_source")) info.peak_sources = {"oracle"};
        if (flaw("metric")) info.metrics.push_back({"oom", hpo::Direction::minimize, "a name of hpo's"});
        if (flaw("source")) info.peak_sources = {"probe"};
        return info;
    }
    hpo::AttemptOutcome run(const hpo::TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        if (flaw("crash")) std::raise(SIGSEGV);
        if (flaw("hang")) std::this_thread::sleep_for(std::chrono::hours{1});
        hpo::AttemptOutcome outcome;
        outcome.kind = hpo::OutcomeKind::stopped;
        if (progress.stop_requested() && !flaw("stop")) return outcome;
        if (flaw("throws")) throw std::runtime_error{"no data"};
        const double told = flaw("nan") ? std::numeric_limits<double>::quiet_NaN() : settings.number("x");
        if (!progress.report(1, told) && !flaw("stop")) return outcome;
        outcome.kind = hpo::OutcomeKind::complete;
        outcome.values = {flaw("seed") ? static_cast<double>(++runs_) : settings.number("x")};
        if (!job.model_folder.empty()) std::ofstream{job.model_folder + "/x"} << hpo::number_text(settings.number("x"));
        if (flaw("reserved")) outcome.attributes.set_text("lost", "a tooth");
        if (flaw("attribute")) outcome.attributes["data_hash"] = "sum 1";
        if (flaw("long_attribute")) outcome.attributes.set_text("classes", std::string(100'000, 'c'));
        return outcome;
    }
    hpo::AttemptOutcome evaluate(const hpo::TrainerJob& job, hpo::Progress&) override {
        const std::string file = job.saved_model + "/x";
        double x = 0;
        if (!(std::ifstream{file} >> x)) throw hpo::Error{hpo::Errc::bad_value, file + ": no number"};
        return {.kind = hpo::OutcomeKind::complete, .values = {x}};
    }
    [[nodiscard]] std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    [[nodiscard]] std::vector<hpo::TrainerProblem> stoppable_check(const hpo::TrainerJob& job, hpo::Progress& progress) override {
        if (flaw("crash_in_forward")) {
            progress.phase("forward");
            std::raise(SIGSEGV);
        }
        return check(job);
    }
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob& job) override {
        if (flaw("throws_in_check")) throw std::runtime_error{"no data"};
        if (flaw("data")) return {{"data", "labels.csv: no such file"}};
        return hpo::Settings::problems(info(), job);
    }

private:
    int runs_ = 0;
};

}  // namespace

HPO_TRAINER_PLUGIN(Hostile);
