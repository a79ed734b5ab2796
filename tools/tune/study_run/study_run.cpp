// SPDX-License-Identifier: MIT
#include "tune/study_run/study_run.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <utility>

#include "hpo/analysis/study_counts.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/tuner.hpp"
#include "support/counts_text.hpp"
#include "support/terminal.hpp"
#include "tune/display/observers.hpp"
#include "tune/display/text.hpp"
#include "tune/prediction/least_memory.hpp"
#include "tune/prediction/trainer_look.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/idle_options.hpp"
#include "tune/settings/printed_command.hpp"
#include "tune/settings/proposals.hpp"
#include "tune/settings/stored_study.hpp"
#include "tune/study_run/interrupts.hpp"
#include "tune/study_run/rehearsal.hpp"
#include "tune/study_run/rescued_store.hpp"
#include "tune/study_run/run_result.hpp"

namespace hpo::tune {
namespace {

ProgressStyle progress_style(const Settings& settings) {
    const std::string& text = settings.text("progress");
    const bool redraws = tools::takes_escapes(STDERR_FILENO);
    // Another program may draw what a pipe gets; a terminal that cannot is not asked to.
    if (text == "bar") return redraws || isatty(STDERR_FILENO) == 0 ? ProgressStyle::bar : ProgressStyle::plain;
    if (text == "plain") return ProgressStyle::plain;
    if (text == "none") return ProgressStyle::none;
    return redraws ? ProgressStyle::bar : ProgressStyle::plain;
}

/// What to say of a limited device after a complete trial that measured nothing of it: the limit does not hold for this trainer.
std::optional<std::string> unmeasured_budget(const Settings& settings, const TrainerInfo& info, const Trial& trial) {
    if (trial.state != TrialState::complete || trial.attempts.empty() || !device_budget(settings)) return std::nullopt;
    const Attempt& last = trial.attempts.back();
    const auto measured = [](const MemoryMark& mark) { return mark.name != "admission" && mark.reading.allocated; };
    if (last.peak_allocated || last.peak_reserved || std::ranges::any_of(last.memory, measured)) return std::nullopt;
    return settings.place("device-memory") + ": trainer " + info.name + " has measured no memory in trial " + std::to_string(trial.number) +
           ": the limit does not bound what its trials take";
}

/// The study, new or as it is stored; a new one is told its trainer and metric.
Study open_same_study(Store& store, const Settings& settings) {
    const Study study = store.open_study(settings.text("study"), settings.directions(), Store::Open::create_or_resume);
    require_same_identity(study, settings);
    for (const auto& [key, value] : identity(settings)) {
        if (!study.user_attributes.contains(key)) store.set_study_user_attribute(study.id, key, json_quote(value));
    }
    return study;
}

/// While it lives, results go to standard error: what a program prints stays alone on standard output.
class ResultOnStandardError {
public:
    ResultOnStandardError() = default;
    ResultOnStandardError(const ResultOnStandardError&) = delete;
    ResultOnStandardError& operator=(const ResultOnStandardError&) = delete;
    ~ResultOnStandardError() { std::cout.rdbuf(standard_output_); }

private:
    std::streambuf* standard_output_ = std::cout.rdbuf(std::cerr.rdbuf());
};

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

StudyRun::StudyRun(const StudyArguments& arguments, const RunOptions& options, ProgramFront* front, const OptimizeCall& call)
    : options_{options},
      settings_{arguments},
      policies_{settings_.policies()},
      style_{progress_style(settings_)},
      tune_{.trials = settings_.whole("trials", 1),
            .directions = settings_.directions(),
            .seed = static_cast<std::uint64_t>(settings_.whole("seed", 0)),
            .time_seconds = settings_.time_seconds(),
            .fixed = settings_.fixed(),
            .plan = settings_.plan(),
            .breaker = settings_.whole("breaker", 0)},
      front_{front},
      call_{call} {
    if (settings_.description().asks_while_running) tune_.read_distribution = store::parse_distribution;
}

StudyRun::~StudyRun() {
    if (progress_) progress_->finish();
}

int StudyRun::run() {
    begin_log();
    try {
        const int status = run_unlogged();
        if (status == exit_code(Errc::bad_value)) tell_program_of_error("hpo-tune has refused the study, and has said why");
        if (log_) log_->run_ends("status " + std::to_string(status));
        return status;
    } catch (const std::exception& error) {
        tell_program_of_error(error.what());
        const auto* known = dynamic_cast<const Error*>(&error);
        if (log_) log_->run_ends("status " + std::to_string(exit_code(known ? known->code() : Errc::usage)) + ": " + error.what());
        throw;
    }
}

int StudyRun::run_unlogged() {
    const int refusal = exit_code(Errc::bad_value);
    try_out_script();
    ask_trainer();
    if (trainer_refuses_script()) return refusal;
    find_devices();
    if (settings_.description().asks_while_running) start_program();
    start_workers();
    if (!settings_.description().asks_while_running && trainer_refuses_first_proposal()) return refusal;
    watch_interrupts();
    is_new_ = !std::filesystem::exists(store::file_of(settings_.text("store")));
    if (is_new_ && !settings_.description().asks_while_running && device_is_too_small_for({})) return refusal;
    open_store();
    tell_tuner_of_trainer();
    tune_.stop_requested = [this] { return stop_requested(); };
    open_study();
    if (front_) hand_study_to_program();
    show_progress();
    if (!is_new_ && !settings_.description().asks_while_running && device_is_too_small_for_stored_study()) return refusal;
    keep_checkpoints();
    keep_best_model();
    try {
        return conclude(tune());
    } catch (const Error&) {
        const auto what = store_->displaced();
        if (!what) throw;
        progress_->finish();
        throw displaced_store(*what);
    }
}

void StudyRun::begin_log() {
    const std::string& file = settings_.text("log");
    const std::int64_t most_bytes = require_bytes(settings_.place("log-size"), settings_.text("log-size"));
    constexpr std::int64_t least_bytes = 4096;
    if (most_bytes < least_bytes) throw bad_value(settings_.place("log-size"), "'" + settings_.text("log-size") + "'", "at least 4KiB");
    if (file.empty()) return;
    log_.emplace(tools::RotatingFile{file, most_bytes, settings_.place("log")},
                 RunLog::Settings{.metrics = settings_.objectives(), .failed = [this](const std::string& text) { show(text); }});
    log_->run_begins({"begins: hpo-tune " HPO_VERSION ": " + run_command(settings_),
                      "  study " + settings_.text("study") + " in " + settings_.text("store") + ", trainer " +
                          settings_.description().trainer + ", " + settings_.text("trials") + " trials in all, seed " +
                          settings_.text("seed"),
                      "  sampler " + settings_.text("sampler") + ", pruner " + settings_.text("pruner") + ", guard " +
                          settings_.text("guard") + ", recovery " + settings_.text("recovery")});
    if (!options_.supervised.restarted.empty()) log_->note("started again: " + options_.supervised.restarted);
}

void StudyRun::try_out_script() {
    tell_idle_options(settings_, [this](const std::string& text) { note(text); });
    require_writable_store(store::file_of(settings_.text("store")));
    if (settings_.description().asks_while_running) {  // what it asks for is known once it asks
        proposals_.resize(1);
        for (const char* split : {"micro_batch", "accumulate"}) {
            if (settings_.description().trainer_options.contains(split))
                note(settings_.arguments().script + ": the trainer's option '" + split +
                     "' has no effect: the program asks for its parameters itself, and hpo.plan() tells it the micro-batch");
        }
        return;
    }
    require_fixed(settings_);
    proposals_ = draw_proposals(settings_);
    for (const std::string& name : never_asked(settings_, proposals_)) {
        note("fixed parameter '" + name + "': the space has not asked for it in " + std::to_string(proposals_.size()) + " proposals");
    }
    if (const std::string few = fewer_combinations(settings_); !few.empty()) note(few);
}

void StudyRun::ask_trainer() {
    info_ = describe_trainer(settings_);
    if (const std::string& option = settings_.arguments().program_option; !option.empty() && info_.name != "command")
        throw Error{Errc::usage, option + ": it is for programs, and trainer " + info_.name + " is none; leave it out"};
    require_known_to_trainer(settings_, info_);
    require_plan(settings_, info_);
    require_micro_batch(settings_, info_, proposals_);
    if (!settings_.text("save-best").empty()) require_saves_models(settings_.place("save-best"), info_);
}

bool StudyRun::trainer_refuses_script() {
    const RuleProblems rules = rule_problems(settings_, info_, proposals_);
    return refused(unsuitable_parameters(settings_, info_, proposals_)) || refused({rules.impossible.begin(), rules.impossible.end()}) ||
           refused({rules.failing.begin(), rules.failing.end()});
}

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
    if (!call_.forks) note("each attempt runs the program anew, since it cannot fork: " + call_.why_not);
    for (const std::string& text : notes_of(call_)) note(text);
    if (settings_.text("sampler") == program_policy) policies_.sampler = registry::AnySampler{ProgramSampler{*front_}};
    if (settings_.text("pruner") == program_policy) policies_.pruner = registry::AnyPruner{ProgramPruner{*front_}};
}

void StudyRun::find_devices() {
    devices_ = run_devices(settings_, info_, [this](const std::string& text) { note(text); });
    for (const std::string& text : beyond_machine(settings_, devices_.front().name)) note(text);
    for (const RunDevice& device : devices_) {
        if (!log_) break;
        log_->run_begins({"  device " + device.name + (device.is_fallback ? ", the fallback" : "") +
                          (device.capacity_bytes ? " with " + format_bytes(*device.capacity_bytes) : std::string{}) + ", " +
                          tools::counted(device.parallel.workers, "worker") + " of " + tools::counted(device.parallel.threads, "thread")});
    }
    if (!options_.verbose) return;
    std::cerr << settings_.report();
    std::cerr << "trainer " << info_.name << (info_.libtorch_version.empty() ? "" : " on LibTorch " + info_.libtorch_version) << "\n";
    for (const RunDevice& device : devices_) {
        std::cerr << "device " << device.name << (device.is_fallback ? ", the fallback" : "") << ", "
                  << tools::counted(device.parallel.workers, "worker") << " of " << tools::counted(device.parallel.threads, "thread")
                  << "\n";
    }
}

void StudyRun::start_workers() {
    // A child of the program is killed with it, so what the child says of its end explains nothing.
    const auto ended_with_program = [this](const Failure& failure) -> std::optional<std::string> {
        if (!front_ || !call_.forks || failure.signal != SIGKILL) return std::nullopt;
        const auto how = front_->how_it_ended();
        if (!how) return std::nullopt;
        return "the program that calls optimize ended (" + *how + "), and this trial's process ended with it";
    };
    workers_.emplace(
        settings_, info_, devices_, [this](const std::string& text) { note(text); }, ended_with_program);
    workers_->share_devices(settings_, info_, policies_.guard.looks(), tune_);
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

store::PatienceOptions StudyRun::patience() {
    return store_patience(
        settings_, [this](const std::string& text) { note(text); }, was_interrupted);
}

void StudyRun::open_store() {
    require_room_for_store(store::file_of(settings_.text("store")), patience());
    store_.emplace(settings_.text("store"), patience());
    workers_->keep_predictions_in(settings_.text("store"), patience());
}

void StudyRun::show_progress() {
    std::size_t workers = 0;
    for (const RunDevice& device : devices_) workers += device.is_fallback && devices_.size() > 1 ? 0 : device.parallel.workers;
    progress_.emplace(Progress::Settings{.style = style_,
                                         .trials = tune_.trials,
                                         .metrics = settings_.objectives(),
                                         .devices = workers_->shown(),
                                         .trial_finished = [this](const Trial& trial) { trial_finished(trial); },
                                         .attempt_started = [this] { attempt_started(); },
                                         .workers = workers});
}

void StudyRun::tell_tuner_of_trainer() {
    tune_.plan.device = devices_.front().name;
    inherit_allocator_settings(tune_.plan);
    tune_.plan.effective_batch = unsearched_batch(settings_, info_);
    tune_.effective_batch_parameter = info_.effective_batch_parameter;
    tune_.refuses_plan = [this](const ExecutionPlan& from, const ExecutionPlan& to) {
        const auto lever = missing_lever(from, to, info_.levers);
        return lever ? lever : refused_allocator(from, to, info_);
    };
    tune_.refuses_params = [this](const ParamSet& params) { return unsuitable_change(settings_, info_, params); };
    if (std::find(info_.levers.begin(), info_.levers.end(), "micro_batch") == info_.levers.end()) {
        tune_.least_micro_batch = std::numeric_limits<std::int64_t>::max();  // the guard must not shrink what would not obey
    }
    tune_.run = Run{.configuration = settings_.json(distributions_in_words(proposals_))};
}

void StudyRun::open_study() {
    study_ = open_same_study(*store_, settings_);
    store_->refresh(study_.id, stored_);
    require_same_parameters(stored_, proposals_);  // before a trial is begun in vain
    require_same_options(study_, stored_, settings_, info_);
    if (const std::string changed = changed_since_latest_run(store_->path(), study_, tune_.run->configuration, patience());
        !changed.empty())
        note("since the latest run of study " + study_.name + ": " + changed);
}

bool StudyRun::device_is_too_small_for_stored_study() {
    std::vector<Attempt> other_studies;
    if (policies_.guard.carries())
        other_studies = tuner::Bookkeeping::attempts_of_other_studies(*store_, study_.id, workers_->largest_pool().runs_on().device_name);
    return device_is_too_small_for({study_.name, study_.directions, stored_, {}, other_studies});
}

std::string StudyRun::store_file() const { return std::filesystem::absolute(store::file_of(settings_.text("store"))).string(); }

void StudyRun::hand_study_to_program() {
    is_handed_over_ = true;
    front_->opened(call_, store_file(), study_.name);
    store_->refresh(study_.id, stored_);  // the program may have added trials that it had in memory
    const std::string& given = settings_.all().at("trials").origin;
    if (given == "default") {
        const auto done = static_cast<std::int64_t>(std::ranges::count_if(stored_, counts_as_done));
        tune_.trials = call_.trials ? done + *call_.trials : endless_trials;
    }
    if (!tune_.time_seconds) tune_.time_seconds = call_.seconds;
    tune_.enough = [this] { return front_->wants_stop(); };
}

void StudyRun::keep_checkpoints() {
    if (!info_.checkpoints) return;
    checkpoints_.emplace(store::file_of(settings_.text("store")), study_.id, checkpoint_conditions(settings_, info_));
    tune_.checkpoint_folder = [this](const Trial& trial) { return checkpoints_->make(trial); };
    tune_.left_checkpoints = [this](const Trial& lost) { return checkpoints_->left_by(lost); };
}

void StudyRun::keep_best_model() {
    if (settings_.text("save-best").empty()) return;
    const auto read_stored = [this] {
        store_->refresh(study_.id, stored_);
        return stored_;
    };
    models_.emplace(
        BestModel::Settings{
            .folder = settings_.best_model_folder(study_.id), .about = model_of_study(settings_, info_), .metrics = info_.metrics},
        read_stored, [this](const std::string& text) { note(text); });
    tune_.model_folder = [this](std::int64_t trial) { return models_->make(trial); };
}

TuneResult StudyRun::tune() {
    const Space space = settings_.script().space();
    Tuner tuner{std::move(policies_.sampler), std::move(policies_.pruner), std::move(policies_.guard), std::move(policies_.recovery)};
    Observers observers{log_ ? std::vector<TuneObserver*>{&*progress_, &*log_} : std::vector<TuneObserver*>{&*progress_}};
    TuneResult result = tuner.optimize(*store_, settings_.text("study"), space, workers_->devices(tune_.predicts), tune_, observers);
    progress_->finish();
    if (log_) log_->others_changed(result.trials);
    store_->require_in_place();  // a run may be shorter than the time between two heartbeats
    return result;
}

Error StudyRun::displaced_store(const std::string& what) {
    const std::string happened = "store '" + store_->path() + "': the file " + what + " while the run worked; ";
    try {
        const std::string copy = rescue(*store_);
        store_->refresh(study_.id, stored_);
        return {Errc::store, happened + "all that it held is saved in " + shell_quoted(copy) + " (study " + study_.name + ": " +
                                 tools::states_text(analysis::count(stored_)) +
                                 "); go on with: " + run_command(settings_, {{"store", copy}})};
    } catch (const Error& error) {
        return {Errc::store, happened + "what it held is lost, since it could not be saved elsewhere: " + error.what()};
    }
}

int StudyRun::conclude(const TuneResult& result) {
    if (checkpoints_) {
        const auto ended = static_cast<std::int64_t>(analysis::count(result.trials).ended());
        checkpoints_->settle(result.trials, !result.interrupted && ended >= tune_.trials);
    }
    const auto kept = models_ ? std::optional{models_->settle(result.trials)} : std::nullopt;
    std::optional<ResultOnStandardError> beside;
    if (!settings_.arguments().program.empty()) beside.emplace();
    if (options_.rehearse) {
        print_rehearsal(result, options_.json);
        return result.interrupted ? exit_code(Errc::interrupted) : 0;
    }
    print_result(result, settings_, tune_.trials, kept, options_.json);
    if (front_) tell_program_of_end(result);
    if (program_gone_) return exit_code(Errc::plugin);
    return exit_status(result, kept);
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

bool StudyRun::refused(const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) {
        if (log_) log_->note("refused: " + problem);
        std::cerr << "hpo-tune: error: " << tools::on_one_line(problem) << "\n";
    }
    return !problems.empty();
}

void StudyRun::note(const std::string& text) {
    if (log_) log_->note(text);
    show(text);
}

void StudyRun::show(const std::string& text) {
    if (progress_) progress_->note(text);
    else std::cerr << "hpo-tune: note: " << tools::on_one_line(text) << "\n";  // before there is a display
}

void StudyRun::attempt_started() {
    if (!std::exchange(has_kept_options_, true)) keep_trainer_options(*store_, store_->path(), study_, settings_, info_, patience());
}

void StudyRun::trial_finished(const Trial& trial) {
    if (front_) front_->finished(trial);
    if (counts_as_done(trial)) options_.supervised.trial_finished();
    if (const auto unmeasured = has_told_unmeasured_ ? std::nullopt : unmeasured_budget(settings_, info_, trial)) {
        has_told_unmeasured_ = true;
        note(*unmeasured);
    }
    tell_idle_batch(trial);
    if (checkpoints_) checkpoints_->finished(trial);
    if (models_) models_->finished(trial);
}

void StudyRun::tell_idle_batch(const Trial& trial) {
    const std::string& name = info_.effective_batch_parameter;
    const Param* const batch = settings_.description().asks_while_running ? trial.params.find(name) : nullptr;
    if (!batch || trial.params.whole_number(name) || std::exchange(has_told_batch_, true)) return;
    note("the batch '" + name + "' has no effect: the program asks for " + describe(*batch->distribution) +
         "; expected an int parameter, or a categorical one of whole numbers");
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
