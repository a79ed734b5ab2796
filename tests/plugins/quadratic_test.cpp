// SPDX-License-Identifier: MIT
#include "quadratic/quadratic.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "hpo/testing/saving_contract.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

struct Recorder final : hpo::Progress {
    std::vector<hpo::Report> reports;
    std::optional<std::int64_t> last;
    bool go_on = true;
    bool report(std::int64_t step, double value) override {
        reports.push_back({step, value});
        return go_on;
    }
    void last_step(std::int64_t step) override { last = step; }
    [[nodiscard]] bool stop_requested() const override { return !go_on; }
    void memory(const hpo::MemoryMark&) override {}
    void log(std::string_view) override {}
};

}  // namespace

TEST_CASE("the quadratic trainer's value is the distance squared from its best point") {
    quadratic::Quadratic trainer;
    hpo::TrainerJob job;
    job.params = {{"x", 4.0}, {"y", -5.0}};
    job.options = {{"steps", std::int64_t{3}}};
    Recorder recorder;
    const auto outcome = trainer.run(job, recorder);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(outcome.values == std::vector<double>{25});
    REQUIRE(recorder.reports.size() == 3);
    CHECK(recorder.reports[0].value > recorder.reports[1].value);
    CHECK(recorder.reports[2].step == 3);
    CHECK(recorder.reports[2].value == 25);
    CHECK(recorder.last == 3);
}

TEST_CASE("the quadratic trainer stops when it is told to, also while it sleeps") {
    quadratic::Quadratic trainer;
    hpo::TrainerJob job;
    job.options = {{"steps", std::int64_t{3}}, {"sleep_ms", std::int64_t{60000}}};
    Recorder recorder;
    recorder.go_on = false;
    const auto start = std::chrono::steady_clock::now();
    CHECK(trainer.run(job, recorder).kind == hpo::OutcomeKind::stopped);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{10});
    job.options.erase("sleep_ms");
    CHECK(trainer.run(job, recorder).kind == hpo::OutcomeKind::stopped);
    CHECK(recorder.reports.empty());
}

TEST_CASE("the quadratic trainer checks what a script gives it") {
    quadratic::Quadratic trainer;
    hpo::TrainerJob job;
    CHECK(trainer.check(job).empty());
    CHECK_FALSE(trainer.profile(job));
    job.params["z"] = 1.0;
    job.options["steps"] = std::int64_t{0};
    CHECK(trainer.check(job).size() == 2);
}

TEST_CASE("the quadratic trainer saves its point and measures it again") {
    const hpo::tests::TemporaryDirectory scratch;
    hpo::TrainerJob job;
    job.params = {{"x", 0.1}, {"y", 1.0 / 3}};
    job.options = {{"steps", std::int64_t{3}}};
    const auto broken =
        hpo::testing::saving_contract_violations([] { return std::make_unique<quadratic::Quadratic>(); }, job, scratch.path());
    INFO((broken.empty() ? "" : broken[0].where + ": " + broken[0].what));
    CHECK(broken.empty());
    job.saved_model = (scratch.path() / "model").string();
    job.options["a"] = 0.1;
    job.options["b"] = 1.0 / 3;
    Recorder recorder;
    CHECK(quadratic::Quadratic{}.evaluate(job, recorder).values == std::vector<double>{0});
}
