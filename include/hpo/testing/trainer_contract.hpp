// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/testing/trainer_problems.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/info_problems.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/tuner/reserved_attributes.hpp"

namespace hpo::testing {

/// Records what a trainer reports during a run. It stops the run after a number of reports.
class RecordingProgress final : public Progress {
public:
    explicit RecordingProgress(std::size_t stop_after = std::numeric_limits<std::size_t>::max()) : stop_after_{stop_after} {}
    [[nodiscard]] bool report(std::int64_t step, double value) override {
        reports.push_back({step, value});
        return !stop_requested();
    }
    [[nodiscard]] bool stop_requested() const override { return reports.size() >= stop_after_; }
    void memory(const MemoryMark& mark) override { marks.push_back(mark); }
    void checkpointed(std::int64_t step) override { checkpoints.push_back(step); }
    void log(std::string_view) override {}

    std::vector<Report> reports;
    std::vector<std::int64_t> checkpoints;
    std::vector<MemoryMark> marks;

private:
    std::size_t stop_after_;
};

/// Equal, or both NaN.
[[nodiscard]] inline bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

[[nodiscard]] inline bool same_reports(const std::vector<Report>& some, const std::vector<Report>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [](const Report& a, const Report& b) { return a.step == b.step && same_number(a.value, b.value); });
}

/// The rules for every trainer, checked with one short job that it accepts. It needs no test framework: an empty result is a pass.
/// Otherwise `where` names the rule and `what` says how it was broken.
class TrainerContract : private TrainerProblems {
public:
    using MakeTrainer = std::function<std::unique_ptr<Trainer>()>;

    TrainerContract(MakeTrainer make, TrainerJob job) : make_{std::move(make)}, job_{std::move(job)} {}

    /// `step` is called with the rule that is checked next.
    [[nodiscard]] std::vector<TrainerProblem> violations(const std::function<void(const std::string& step)>& step = {}) {
        bool described = false;
        const auto look = [&](const std::string& rule, auto&& check) {
            if (step) step(rule);
            try {
                check();
            } catch (const std::exception& error) {
                expect(false, rule, std::string{"it throws: "} + error.what());
            }
        };
        look("info", [&] { described = check_info(); });
        if (!described) return take();  // with a wrong description, the other checks would fail as well
        look("check", [&] { check_refusals(); });
        look("run", [&] { check_run(); });
        if (completes_) {  // these checks need a run that completes
            look("stop", [&] { check_stop(); });
            look("memory", [&] { check_memory(); });
        }
        look("profile", [&] { check_profile(); });
        look("predict", [&] { check_predictions(); });
        return take();
    }

private:
    /// Returns false if the description is wrong.
    bool check_info() {
        trainer_ = make_();
        const TrainerInfo info = trainer_->info();
        const std::vector<std::string> problems = info_problems(info);
        for (const std::string& problem : problems) expect(false, "info", problem);
        for (const std::string& missing : unsaid_in(info)) expect(false, "info", missing);
        for (const TrainerMetric& metric : info.metrics) {
            expect(!tuner::is_reserved_attribute(metric.name), "info",
                   "metric '" + metric.name + "' has a name that hpo keeps for itself; give it another name");
        }
        const bool same = trainer_->info().name == info.name && trainer_->info().parameters.size() == info.parameters.size();
        expect(same, "info", "asked twice, it answers differently");
        return problems.empty();
    }

    /// check must refuse `job`, and run must refuse it without training. The refusal must name `word`.
    void expect_refused(const TrainerJob& job, const std::string& word, const std::string& where) {
        const auto problems = trainer_->check(job);
        const bool named = std::any_of(problems.begin(), problems.end(), [&](const TrainerProblem& problem) {
            return (problem.where + problem.what).find(word) != std::string::npos;
        });
        expect(named, where, "check does not name " + word);
        RecordingProgress progress;
        const AttemptOutcome outcome = run(*trainer_, job, progress);
        expect(outcome.kind == OutcomeKind::failed, where, "run accepts " + word);
        expect(outcome.kind != OutcomeKind::failed || failure_text(outcome).find(word) != std::string::npos, where,
               "run's refusal does not name " + word + ": " + failure_text(outcome));
        expect(progress.reports.empty(), where, "run reports before it refuses " + word);
    }
    void check_refusals() {
        const auto problems = trainer_->check(job_);
        expect(problems.empty(), "check", problems.empty() ? "" : "refuses the job: " + problems[0].where + ": " + problems[0].what);
        const std::string unknown = "no_such_parameter";
        TrainerJob job = job_;
        job.params[unknown] = 1.0;
        expect_refused(job, unknown, "unknown parameter");
        job = job_;
        job.options[unknown] = true;
        expect_refused(job, unknown, "unknown option");
        for (const TrainerParameter& parameter : trainer_->info().parameters) {
            job = job_;
            job.params[parameter.name] = parameter.type == "float" || parameter.type == "int" || parameter.type == "bool"
                                             ? Value{std::string{"a text"}}
                                             : Value{1.5};
            expect_refused(job, parameter.name, "wrong type");
        }
    }

    void check_run() {
        RecordingProgress first;
        const AttemptOutcome outcome = run(*trainer_, job_, first);
        see_start(first);
        expect(outcome.kind == OutcomeKind::complete, "run",
               (outcome.failure ? "the job does not complete: " : std::string{}) + end_text(outcome));
        if (outcome.kind != OutcomeKind::complete) return;
        const bool has_value = outcome.values.size() == 1 && std::isfinite(outcome.values[0]);
        expect(has_value, "run", "expected one finite number, got " + end_text(outcome));
        const auto no_number = std::ranges::find_if(first.reports, [](const Report& report) { return std::isnan(report.value); });
        if (no_number != first.reports.end()) expect(false, "report", "the value of step " + std::to_string(no_number->step) + " is NaN");
        for (std::size_t i = 1; i < first.reports.size(); ++i) {
            expect(first.reports[i].step > first.reports[i - 1].step, "report", "steps do not increase");
        }
        for (std::size_t i = 0; i < first.marks.size(); ++i) {
            expect(!first.marks[i].name.empty(), "memory", "a mark without a name");
            expect(i == 0 || first.marks[i].seconds >= first.marks[i - 1].seconds, "memory", "marks go back in time");
        }
        for (const auto& [name, json] : outcome.attributes) {
            expect(store::is_json(json), "attributes", "'" + name + "' is no JSON and would not be kept: " + json.substr(0, 60));
            expect(!tuner::is_reserved_attribute(name), "attributes",
                   "'" + name + "' is a name that hpo keeps for itself, and would not be kept; give it another name");
        }
        const auto again = make_();
        for (Trainer* const trainer : {trainer_.get(), again.get()}) {
            const std::string whose = trainer == again.get() ? "another trainer" : "the same trainer again";
            RecordingProgress second;
            const AttemptOutcome repeated = run(*trainer, job_, second);
            if (trainer == trainer_.get()) see_start(second);
            expect(!has_value || repeated.values == outcome.values, "seed",
                   whose + " gives other values with the same seed: " + end_text(outcome) + ", then " + end_text(repeated));
            expect(same_reports(first.reports, second.reports), "seed", whose + " reports otherwise with the same seed");
        }
        completes_ = true;
        reports_ = first.reports.size();
    }

    /// Keeps the memory that is allocated when an attempt of `trainer_` starts.
    void see_start(const RecordingProgress& progress) {
        for (const MemoryMark& mark : progress.marks) {
            if (mark.name == "trial_start" && mark.reading.allocated) held_at_start_.push_back(*mark.reading.allocated);
        }
    }
    /// That memory must not grow from one attempt to the next. The first attempt may have made what stays for good.
    void check_memory() {
        const auto& held = held_at_start_;
        const bool grows = held.size() > 2 && held[0] < held[1] && held[1] < held[2];
        if (!grows) return;
        expect(false, "memory", format_bytes(held[1] - held[0]) + " of the device are still allocated after an attempt; expected none");
    }

    void check_stop() {
        if (reports_ > 1) {
            RecordingProgress progress{1};
            const AttemptOutcome outcome = run(*trainer_, job_, progress);
            expect(outcome.kind == OutcomeKind::stopped, "stop", "a report that answers 'stop' does not end the run as stopped");
            expect(progress.reports.size() == 1, "stop", "it reports on after the answer 'stop'");
        }
        RecordingProgress stopped{0};
        const AttemptOutcome outcome = run(*trainer_, job_, stopped);
        expect(outcome.kind == OutcomeKind::stopped || (outcome.kind == OutcomeKind::complete && reports_ == 0), "stop",
               "a stop that was asked before the start is not obeyed");
        RecordingProgress after;
        expect(run(*trainer_, job_, after).kind == OutcomeKind::complete, "stop", "the next run does not complete");
        see_start(after);
    }

    void check_profile() {
        const auto profile = trainer_->profile(job_);
        const auto again = trainer_->profile(job_);
        expect(profile.has_value() == again.has_value(), "profile", "asked twice, it answers differently");
        if (!profile || !again) return;
        const auto figures = [](const Profile& p) {
            return std::array{p.parameters,
                              p.trainable_parameters,
                              p.weight_bytes,
                              p.gradient_bytes,
                              p.optimizer_bytes,
                              p.activation_fixed_bytes,
                              p.activation_bytes_per_example};
        };
        expect(figures(*profile) == figures(*again), "profile", "asked twice, it answers differently");
        for (const std::int64_t figure : figures(*profile)) expect(figure >= 0, "profile", "a figure is negative");
        expect(profile->trainable_parameters <= profile->parameters, "profile", "more trainable parameters than parameters");
        expect(profile->gradient_bytes <= profile->weight_bytes, "profile", "more bytes of gradients than of weights");
    }

    /// A source may say that it cannot predict this job. A source that the trainer lacks must not be in its description.
    void check_predictions() {
        const TrainerInfo info = trainer_->info();
        for (const PeakSource source : peak_sources) {
            const std::string name{to_text(source)};
            if (std::find(info.peak_sources.begin(), info.peak_sources.end(), name) == info.peak_sources.end()) continue;
            if (source == PeakSource::dry_run) check_cuda();
            try {
                RecordingProgress progress;
                const PeakPrediction prediction = trainer_->predict(job_, source, progress);
                expect(prediction.need > 0, "predict", name + " predicts a need of " + std::to_string(prediction.need) + " bytes");
            } catch (const CannotRun& error) {
                expect(false, "predict", "it cannot run on " + job_.plan.device + ": " + error.what());
            } catch (const Error& error) {
                const std::string what = error.what();
                const bool missing = what == unimplemented(source) || what.find("unknown question '" + name + "'") != std::string::npos;
                expect(!missing, "predict", "info() names the source " + name + ", which is not implemented");
            }
        }
    }

    /// A trainer that has dry runs must not mix a GPU's tensors with host memory. No GPU is needed to see it.
    void check_cuda() {
        TrainerJob job = job_;
        job.plan.device = "cuda:0";
        try {
            RecordingProgress progress;
            static_cast<void>(trainer_->predict(job, PeakSource::dry_run, progress));
        } catch (const CannotRun& error) {
            expect(false, "predict", std::string{"it cannot run on CUDA: "} + error.what());
        } catch (const Error&) {  // what a dry run cannot tell is no mistake
        }
    }

    /// The message of a trainer that does not implement a source.
    std::string unimplemented(PeakSource source) {
        try {
            RecordingProgress progress;
            static_cast<void>(trainer_->Trainer::predict(job_, source, progress));
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    }

    MakeTrainer make_;
    TrainerJob job_;
    std::unique_ptr<Trainer> trainer_;
    bool completes_ = false;  ///< the job ran to its end
    std::size_t reports_ = 0;
    std::vector<std::int64_t> held_at_start_;
};

/// All rules that a trainer breaks, checked with a short job that it accepts.
[[nodiscard]] inline std::vector<TrainerProblem> trainer_contract_violations(TrainerContract::MakeTrainer make, TrainerJob job) {
    return TrainerContract{std::move(make), std::move(job)}.violations();
}

}  // namespace hpo::testing
