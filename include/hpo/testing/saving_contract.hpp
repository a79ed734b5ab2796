// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/testing/trainer_contract.hpp"
#include "hpo/testing/trainer_problems.hpp"

namespace hpo::testing {

/// The rules for a trainer's saved models and checkpoints, checked with one short job that it accepts. A trainer that supports neither must
/// say so. It needs no test framework: an empty result is a pass.
class SavingContract : private TrainerProblems {
public:
    /// `scratch` is an empty, writable folder. Its contents have no use afterwards.
    SavingContract(TrainerContract::MakeTrainer make, TrainerJob job, std::filesystem::path scratch)
        : make_{std::move(make)}, job_{std::move(job)}, scratch_{std::move(scratch)} {}

    [[nodiscard]] std::vector<TrainerProblem> violations() {
        trainer_ = make_();
        RecordingProgress progress;
        whole_ = run(*trainer_, job_, progress);
        told_ = progress.reports;
        expect(whole_.kind == OutcomeKind::complete, "run",
               (whole_.failure ? "the job does not complete: " : std::string{}) + end_text(whole_));
        if (whole_.kind == OutcomeKind::complete) {
            check_folders_without_a_model();
            if (trainer_->info().saves_models) check_model();
            if (trainer_->info().checkpoints && told_.size() > 1) check_checkpoints();
        }
        return take();
    }

private:
    [[nodiscard]] AttemptOutcome evaluate(Trainer& trainer, const std::filesystem::path& folder) const {
        TrainerJob job = job_;
        job.saved_model = folder.string();
        RecordingProgress progress;
        return outcome_of([&] { return trainer.evaluate(job, progress); });
    }
    [[nodiscard]] std::string make_folder(const char* name) const {
        std::filesystem::create_directories(scratch_ / name);
        return (scratch_ / name).string();
    }
    static std::string data_hash(const AttemptOutcome& outcome) {
        const auto found = outcome.attributes.find("data_hash");
        return found == outcome.attributes.end() ? std::string{} : found->second;
    }

    void check_folders_without_a_model() {
        const std::string folder = make_folder("nothing");
        const AttemptOutcome outcome = evaluate(*trainer_, folder);
        expect(outcome.kind == OutcomeKind::failed, "evaluate", "a folder without a model is measured");
        if (outcome.kind != OutcomeKind::failed || !trainer_->info().saves_models) return;
        expect(failure_text(outcome).find(folder) != std::string::npos, "evaluate",
               "what is wrong with a folder does not name it: " + failure_text(outcome));
    }

    void check_model() {
        TrainerJob job = job_;
        job.model_folder = make_folder("model");
        RecordingProgress progress;
        const AttemptOutcome saved = run(*trainer_, job, progress);
        expect(saved.values == whole_.values, "model_folder",
               "a run that saves its model ends otherwise: " + end_text(saved) + "; expected " + end_text(whole_));
        if (saved.kind != OutcomeKind::complete) return;
        expect(!std::filesystem::is_empty(job.model_folder), "model_folder", "a run leaves it empty");
        const auto another = make_();
        for (Trainer* const trainer : {trainer_.get(), another.get()}) {
            const AttemptOutcome measured = evaluate(*trainer, job.model_folder);
            const bool one_value = measured.kind == OutcomeKind::complete && measured.values.size() == 1;
            expect(one_value, "evaluate", "a saved model gives no single value: " + end_text(measured));
            if (!one_value) return;
            const double difference = std::fabs(measured.values[0] - saved.values[0]);
            expect(difference <= 1e-3 * std::max(1.0, std::fabs(saved.values[0])), "evaluate",
                   "the value is not that of the run: " + end_text(measured) + " instead of " + end_text(saved));
            expect(data_hash(measured) == data_hash(saved), "evaluate", "data_hash is not that of the run on the same data");
        }
        if (told_.size() < 2) return;
        job.model_folder = make_folder("stopped");
        RecordingProgress stopped{1};
        static_cast<void>(run(*trainer_, job, stopped));
        expect(std::filesystem::is_empty(job.model_folder), "model_folder", "a run that was stopped writes into it");
    }

    /// Stops a run at its last report. Then another trainer resumes from its last checkpoint.
    void check_checkpoints() {
        TrainerJob job = job_;
        job.checkpoint_folder = make_folder("checkpoints");
        RecordingProgress cut_short{told_.size()};
        static_cast<void>(run(*trainer_, job, cut_short));
        expect(!cut_short.checkpoints.empty(), "checkpoints", "a run with a folder for them tells of none before its last report");
        if (cut_short.checkpoints.empty()) return;
        job.resume_step = cut_short.checkpoints.back();
        const auto another = make_();
        RecordingProgress rest;
        const AttemptOutcome outcome = run(*another, job, rest);
        expect(outcome.values == whole_.values, "checkpoints",
               "a run that goes on ends otherwise: " + end_text(outcome) + "; expected " + end_text(whole_));
        std::vector<Report> expected;
        std::copy_if(told_.begin(), told_.end(), std::back_inserter(expected),
                     [&](const Report& report) { return report.step > *job.resume_step; });
        expect(same_reports(expected, rest.reports), "checkpoints", "a run that goes on reports otherwise than one that was not stopped");
        job.checkpoint_folder = make_folder("no_checkpoints");
        RecordingProgress nothing;
        expect(run(*another, job, nothing).kind == OutcomeKind::failed, "checkpoints", "it goes on from a checkpoint that is not there");
    }

    TrainerContract::MakeTrainer make_;
    TrainerJob job_;
    std::filesystem::path scratch_;
    std::unique_ptr<Trainer> trainer_;
    AttemptOutcome whole_;      ///< the outcome of a run that was not stopped
    std::vector<Report> told_;  ///< the reports of that run
};

/// All rules about models and checkpoints that a trainer breaks.
[[nodiscard]] inline std::vector<TrainerProblem> saving_contract_violations(TrainerContract::MakeTrainer make, TrainerJob job,
                                                                            std::filesystem::path scratch) {
    return SavingContract{std::move(make), std::move(job), std::move(scratch)}.violations();
}

}  // namespace hpo::testing
