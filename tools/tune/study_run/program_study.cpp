// SPDX-License-Identifier: MIT
// The steps of a run whose trials are those of a program that calls optimize: they are told to the program, and end with it.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"
#include "tune/optimize/optimize_call.hpp"
#include "tune/optimize/program_failure.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/study_run/interrupts.hpp"
#include "tune/study_run/run_result.hpp"
#include "tune/study_run/study_run.hpp"

namespace hpo::tune {

void StudyRun::start_program() {
    if (!front_) {
        watch_interrupts();
        front_ = &own_front_.emplace(words_of_program(settings_));
        auto call = front_->next_call();
        if (!call) {
            const int status = front_->wait();
            if (was_interrupted()) throw Error{Errc::interrupted, "interrupted before the program called optimize"};
            throw Error{Errc::bad_value, settings_.arguments().script + ": the program ended with status " + std::to_string(status) +
                                             " and did not call optimize"};
        }
        call_ = *std::move(call);
    }
    if (!call_.directions.empty() && call_.directions != settings_.directions()) {
        throw Error{Errc::bad_value, settings_.arguments().script + ": the program's study has other directions than the script"};
    }
    for (const char* of_earlier_call : {"HPO_FORK_SOCKET", "HPO_FRONT", "HPO_OPTIMIZE_CALL", "HPO_OPTIMIZE_STUDIES",
                                        "HPO_PREDICT_PYTHONPATH", "HPO_PREDICT_CALL", "HPO_PREDICT_STUDIES"})
        ::unsetenv(of_earlier_call);
    for (const auto& [name, value] : front_->variables_of_attempts(call_, store_file(), settings_.text("study")))
        ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("HPO_OBJECTIVES", std::to_string(settings_.directions().size()).c_str(), 1);
    if (settings_.arguments().in_program)
        note(
            "--isolation none: trials run in the program, one at a time; their memory is not planned, and one that crashes ends the study");
    else if (!call_.forks) note("each attempt runs the program anew, since it cannot fork: " + call_.why_not);
    for (const std::string& text : notes_of(call_, settings_)) note(text);
    if (settings_.text("sampler") == program_policy && tune_.seeds > 1)
        throw bad_value(settings_.place("seeds"), settings_.text("seeds") + " with the program's own sampler",
                        "1, or a sampler of hpo, which learns the mean: --sampler auto");
    if (settings_.text("sampler") == program_policy) policies_.sampler = registry::AnySampler{ProgramSampler{*front_}};
    if (settings_.text("pruner") == program_policy) policies_.pruner = registry::AnyPruner{ProgramPruner{*front_}};
}

void StudyRun::hand_study_to_program() {
    is_handed_over_ = true;
    is_study_unused_ = false;
    if (call_.names_constraints) store_->write_constraints_as(store::ConstraintFormat::optuna_5);
    front_->opened(call_, store_file(), study_.name);
    store_->refresh(study_.id, stored_);  // the program may have added trials that it had in memory
    const std::string& given = settings_.all().at("trials").origin;
    if (given == "default") {
        const auto done = static_cast<std::int64_t>(std::ranges::count_if(stored_, counts_as_done));
        if (call_.trials) tune_.own_trials = std::max<std::int64_t>(0, *call_.trials - options_.supervised.finished_trials());
        tune_.trials = tune_.own_trials ? done + *tune_.own_trials : endless_trials;
    }
    if (!tune_.time_seconds) tune_.time_seconds = call_.seconds;
    // What an objective raises ends the study in the program, or is caught there. If it returns no number, Optuna goes on. An objective of
    // a file has no such program, so all of its failures count. So they do for who asks for a breaker.
    if (!own_front_ && settings_.all().at("breaker").origin == "default") {
        tune_.breaker_counts = [](const Failure& failure) { return costs_its_trial_alone(failure.kind); };
        if (call_.catches) tune_.breaker = 0;  // the study should go on
    }
    tune_.enough = [this] { return front_->wants_stop(); };
    tune_.constraints_after_end = [this](const Trial& trial) { return front_->finished(trial); };
}

void StudyRun::tell_program_of_end(const TuneResult& result) {
    if (result.interrupted) front_->ended("interrupted", "");
    else if (result.broken) front_->ended("breaker", trip_text(*result.broken));
    else front_->ended(front_->wants_stop() ? "stopped" : "done", "");
    is_handed_over_ = false;
    if (!own_front_) return;
    if (const int status = own_front_->wait(); status != 0)
        note("the program ended with status " + std::to_string(status) + " after its study");
}

void StudyRun::tell_program_of_error(const std::string& what) noexcept {
    try {
        if (!front_) return;
        if (own_front_) return own_front_->end();  // this process says what is wrong
        if (std::exchange(is_handed_over_, false)) front_->ended("error", what);
        else front_->refuse(what);
    } catch (const std::exception&) {  // the program has gone
    }
}

void StudyRun::tell_idle_batch(const Trial& trial) {
    const std::string& name = info_.effective_batch_parameter;
    const Param* const batch = settings_.description().asks_while_running ? trial.params.find(name) : nullptr;
    if (!batch || trial.params.whole_number(name) || std::exchange(has_told_batch_, true)) return;
    note("the batch '" + name + "' has no effect: the program asks for " + describe(*batch->distribution) +
         "; expected an int parameter, or a categorical one of whole numbers");
}

void StudyRun::tell_unasked(const Trial& trial) {
    if (!settings_.description().asks_while_running || trial.state != TrialState::complete || std::exchange(has_told_unasked_, true))
        return;
    std::vector<std::string> wanted, asked;
    for (const auto& [name, value] : settings_.fixed()) wanted.push_back(name);
    if (!info_.effective_batch_parameter.empty()) wanted.push_back(info_.effective_batch_parameter);
    for (const Param& param : trial.params) asked.push_back(param.name);
    for (const std::string& name : wanted) {
        if (trial.params.find(name)) continue;
        const bool is_of_script = !settings_.arguments().script_text && !is_fixed_by_option(settings_, name);
        note("parameter '" + name + "' of the " + (is_of_script ? "script" : "command line") + ": trial " + std::to_string(trial.number) +
             " did not ask for it; it asked for " + (asked.empty() ? "none" : join_names(asked)));
    }
}

bool StudyRun::stop_requested() {
    if (is_handed_over_ && !program_gone_ && (program_gone_ = front_->gone()))
        note(*program_gone_ + ", so its running trials end; a later run of the study runs them again");
    if (program_gone_) return true;
    if (!was_interrupted()) return false;
    if (!std::exchange(has_told_interrupt_, true)) note("interrupted: ending the running trials; again to leave at once");
    return true;
}

}  // namespace hpo::tune
