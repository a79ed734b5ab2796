// SPDX-License-Identifier: MIT
// Why a run does not begin: what the trainer finds wrong, and a device on which nothing fits.
#include <iostream>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/failure/classify.hpp"
#include "support/terminal.hpp"
#include "tune/prediction/least_memory.hpp"
#include "tune/prediction/trainer_look.hpp"
#include "tune/settings/proposals.hpp"
#include "tune/study_run/interrupts.hpp"
#include "tune/study_run/study_run.hpp"

namespace hpo::tune {
namespace {

/// What the trainer finds wrong with one proposal, so that data that are missing do not fail every trial of a study. Memory
/// that does not suffice is no reason to stop: each trial has its guard and its recovery. A proposal that is too large for
/// most_real_step_bytes is looked at by its shapes alone.
std::vector<std::string> problems_before_start(worker::Pool& pool, const std::string& trainer, const ParamSet& params,
                                               const ExecutionPlan& plan) {
    const ShapesAnswer shapes = look_at_shapes(pool, params, plan);
    if (!shapes.cannot_run.empty()) return {"trainer " + trainer + ": cannot run on " + plan.device + ": " + shapes.cannot_run};
    if (shapes.need_bytes > most_real_step_bytes()) return {};
    std::vector<TrainerProblem> found;
    try {
        found = pool.check(params, plan).problems;
    } catch (const Error& error) {  // the worker died or was slow: a trial that meets the same is recorded with what is known of it
        std::cerr << "hpo-tune: note: " << tools::on_one_line(error.what()) << "\n";
    }
    std::vector<std::string> problems;
    for (const TrainerProblem& problem : found) {
        if (is_memory(classify_text({.message = problem.what}).kind)) continue;
        problems.push_back("trainer " + trainer + ": " + (problem.where.empty() ? "" : problem.where + ": ") + problem.what);
    }
    return problems;
}

}  // namespace

bool StudyRun::trainer_refuses_script() {
    const RuleProblems rules = rule_problems(settings_, info_, proposals_);
    return refused(unsuitable_parameters(settings_, info_, proposals_)) || refused({rules.impossible.begin(), rules.impossible.end()}) ||
           refused({rules.failing.begin(), rules.failing.end()});
}

bool StudyRun::trainer_refuses_first_proposal() {
    const ParamSet& first = proposals_.front();
    return refused(problems_before_start(workers_->largest_pool(), info_.name, first,
                                         first_plan(settings_, info_, first, workers_->largest_device().name)));
}

bool StudyRun::device_is_too_small_for(const History& learned) {
    const RunDevice& device = workers_->largest_device();
    if (!device.capacity_bytes) return false;
    const auto problem =
        nothing_fits(settings_, info_, workers_->largest_pool(), policies_.guard,
                     {device.name, *device.capacity_bytes, learned, [this](const std::string& text) { note(text); }, was_interrupted});
    return problem && refused({*problem});
}

bool StudyRun::device_is_too_small_for_stored_study() {
    std::vector<Attempt> other_studies;
    if (policies_.guard.carries())
        other_studies = tuner::Bookkeeping::attempts_of_other_studies(*store_, study_.id, workers_->largest_pool().runs_on().device_name);
    return device_is_too_small_for({study_.name, study_.directions, stored_, {}, other_studies});
}

bool StudyRun::refused(const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) {
        if (log_) log_->note("refused: " + problem);
        std::cerr << "hpo-tune: error: " << tools::on_one_line(problem) << "\n";
    }
    return !problems.empty();
}

}  // namespace hpo::tune
