// SPDX-License-Identifier: MIT
// Why a run does not begin: what the trainer finds wrong, and a device on which nothing fits.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <span>
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
std::vector<TrainerProblem> problems_before_start(worker::Pool& pool, const ParamSet& params, const ExecutionPlan& plan) {
    const ShapesAnswer shapes = look_at_shapes(pool, params, plan);
    if (!shapes.cannot_run.empty()) return {{"", "cannot run on " + plan.device + ": " + shapes.cannot_run}};
    if (shapes.need_bytes > most_real_step_bytes()) return {};
    std::vector<TrainerProblem> found;
    try {
        found = pool.check(params, plan).problems;
    } catch (const Error& error) {  // the worker died or was slow: a trial that meets the same is recorded with what is known of it
        std::cerr << "hpo-tune: note: " << tools::on_one_line(error.what()) << "\n";
    }
    std::erase_if(found, [](const TrainerProblem& problem) { return is_memory(classify_text({.message = problem.what}).kind); });
    return found;
}

/// True if all that is wrong is that the model could not be built or applied, which other parameters may mend.
bool may_follow_parameters(const std::vector<TrainerProblem>& problems) {
    return std::ranges::all_of(problems,
                               [](const TrainerProblem& problem) { return problem.where == "build" || problem.where == "forward"; });
}

}  // namespace

bool StudyRun::trainer_refuses_script() {
    const RuleProblems rules = rule_problems(settings_, info_, proposals_);
    return refused(unsuitable_parameters(settings_, info_, proposals_)) || refused({rules.impossible.begin(), rules.impossible.end()}) ||
           refused({rules.failing.begin(), rules.failing.end()});
}

bool StudyRun::trainer_refuses_proposals() {
    constexpr std::size_t most = 10;
    const auto problems_of = [&](const ParamSet& params) {
        return problems_before_start(workers_->largest_pool(), params,
                                     first_plan(settings_, info_, params, workers_->largest_device().name));
    };
    const std::vector<TrainerProblem> first = problems_of(proposals_.front());
    if (first.empty()) return false;
    std::vector<std::string> texts;
    for (const TrainerProblem& problem : first)
        texts.push_back("trainer " + info_.name + ": " + (problem.where.empty() ? "" : problem.where + ": ") + problem.what);
    if (may_follow_parameters(first)) {
        const auto others = std::span{proposals_}.subspan(1, std::min(most, proposals_.size()) - 1);
        if (std::ranges::any_of(others, [&](const ParamSet& params) { return problems_of(params).empty(); })) {
            note("trials in a part of the space will fail: " + texts.front());
            return false;
        }
    }
    return refused(texts);
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
