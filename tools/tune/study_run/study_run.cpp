// SPDX-License-Identifier: MIT
#include "tune/study_run/study_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "hpo/analysis/study_counts.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/failure/rule_failure.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/store/sqlite/study_attributes.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/counts_text.hpp"
#include "support/latest_run.hpp"
#include "support/study_attributes.hpp"
#include "support/terminal.hpp"
#include "tune/device/allocator_settings.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/device/parallelism.hpp"
#include "tune/display/observers.hpp"
#include "tune/display/text.hpp"
#include "tune/optimize/program_executor.hpp"
#include "tune/prediction/same_program.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/idle_options.hpp"
#include "tune/settings/printed_command.hpp"
#include "tune/settings/proposals.hpp"
#include "tune/settings/stored_study.hpp"
#include "tune/settings/value_checks.hpp"
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
        if (!study.system_attributes.contains(key)) store.set_study_system_attribute(study.id, key, json_quote(value));
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

}  // namespace

StudyRun::StudyRun(const StudyArguments& arguments, const RunOptions& options, ProgramFront* front, const OptimizeCall& call)
    : options_{options},
      settings_{arguments},
      policies_{settings_.policies()},
      style_{progress_style(settings_)},
      tune_{.trials = settings_.whole("trials", 1),
            .directions = settings_.directions(),
            .seed = static_cast<std::uint64_t>(settings_.whole("seed", 0)),
            .seeds = settings_.whole("seeds", 1, most_seeds),
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
    try {
        if (is_study_unused_) store_->delete_study(study_.id);
    } catch (const std::exception&) {  // it stays, without a trial
    }
}

int StudyRun::run() {
    try {
        begin_log();
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
    is_new_ = !std::filesystem::exists(store::file_of(settings_.text("store")));
    if (!settings_.arguments().new_study.empty()) make_new_study();
    if (settings_.description().asks_while_running) start_program();
    start_workers();
    if (!settings_.description().asks_while_running && trainer_refuses_proposals()) return refusal;
    watch_interrupts();
    if (is_new_ && !settings_.description().asks_while_running && device_is_too_small_for({})) return refusal;
    if (!store_) open_store();
    workers_->keep_predictions_in(settings_.text("store"), patience());
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
    auto file = opened_log(settings_);
    if (!file) return;
    log_.emplace(*std::move(file),
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
    try {
        require_fixed(settings_);
    } catch (const Error& error) {
        throw placed_fixed(settings_, error);
    }
    require_enqueued(settings_);
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
    workers_.emplace(settings_, info_, devices_, [this](const std::string& text) { note(text); });
    workers_->share_devices(settings_, info_, policies_.guard.looks(), tune_);
}

store::PatienceOptions StudyRun::patience() {
    return store_patience(
        settings_, [this](const std::string& text) { note(text); }, was_interrupted);
}

void StudyRun::open_store() {
    require_room_for_store(store::file_of(settings_.text("store")), patience());
    store_.emplace(settings_.text("store"), patience());
}

void StudyRun::make_new_study() {
    open_store();
    const std::string expected = settings_.text("study");
    const auto is_taken = [&] {
        return std::ranges::any_of(store_->studies(), [&](const Study& study) { return study.name == settings_.text("study"); });
    };
    for (int number = 2;; ++number) {
        if (!is_taken()) {
            try {
                study_ = store_->open_study(settings_.text("study"), settings_.directions(), Store::Open::create);
                break;
            } catch (const Error&) {
                if (!is_taken()) throw;
            }
        }
        settings_.name_study(numbered_name(settings_.arguments().new_study, number));
    }
    is_study_unused_ = true;
    if (settings_.text("study") != expected)
        note("another start has made study " + expected + " meanwhile, so this one is " + settings_.text("study"));
}

void StudyRun::show_progress() {
    std::size_t workers = 0;
    for (const RunDevice& device : devices_) workers += device.is_fallback && devices_.size() > 1 ? 0 : device.parallel.workers;
    progress_.emplace(Progress::Settings{.style = style_,
                                         .trials = tune_.trials,
                                         .own_trials = tune_.own_trials,
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
}

void StudyRun::open_study() {
    study_ = open_same_study(*store_, settings_);
    store_->refresh(study_.id, stored_);
    choose_sampler();
    tune_.run = Run{.configuration = settings_.json(distributions_in_words(proposals_))};
    require_same_parameters(stored_, proposals_);  // before a trial is begun in vain
    require_same_options(study_, stored_, settings_, info_);
    enqueue_first_trials();
    if (const std::string changed = changed_since_latest_run(store_->path(), study_, tune_.run->configuration, patience());
        !changed.empty())
        note("since the latest run of study " + study_.name + ": " + changed);
    read_same_program();
}

/// Once in the life of a study, whoever begins it.
void StudyRun::enqueue_first_trials() {
    const std::vector<FixedValues> trials = enqueued_trials(settings_);
    if (trials.empty() || !stored_.empty()) return;
    store::Connection connection{store_->path(), {.write = true, .immutable = false, .patience = patience()}};
    if (!store::replace_study_system_attribute(connection, study_.id, tools::enqueued_attribute, std::nullopt, "true")) return;
    for (const FixedValues& values : trials) (void)store_->enqueue(study_.id, values);
    store_->refresh(study_.id, stored_);
}

/// Takes a setting that nobody gave over from the study's latest run, and says so. Returns true if it was another one.
bool StudyRun::keeps(const char* word) {
    const Settings::Setting chosen = settings_.all().at(word);
    const auto kept = chosen.origin == "default" ? tools::latest_setting(store_->path(), study_.id, word, patience()) : std::nullopt;
    if (!kept || *kept == chosen.text) return false;
    note(std::string{word} + " " + *kept + ", which the study had before; --" + word + " " + chosen.text + " changes it");
    settings_.keep(word, *kept);
    return true;
}

/// A study that goes on keeps its sampler and its seeds. A sampler that chooses by itself says what it chose.
void StudyRun::choose_sampler() {
    if (keeps("sampler")) policies_.sampler = settings_.policies().sampler;
    if (keeps("seeds")) tune_.seeds = settings_.whole("seeds", 1, most_seeds);
    const Settings::Setting& chosen = settings_.all().at("sampler");
    if (!settings_.description().asks_while_running) {
        const std::string explanation = policies_.sampler.explanation(settings_.directions().size(), proposals_);
        if (!explanation.empty()) note("sampler " + chosen.text + ": " + explanation);
    }
}

void StudyRun::read_same_program() {
    if (!policies_.guard.carries() || !workers_->largest_device().capacity_bytes) return;
    if (stored_.size() >= guard::LearnedPeaks::most_borrowed) return;
    SameProgram same = tune::read_same_program(settings_, info_, patience());
    if (!same.studies.empty())
        note("other studies of the store that ran the same program: " + join_names(same.studies) +
             "; where peaks are learned, theirs on this device count until this study has enough of its own");
    tune_.same_program = std::move(same.trials);
}

std::string StudyRun::store_file() const { return std::filesystem::absolute(store::file_of(settings_.text("store"))).string(); }

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
    std::optional<ProgramExecutor> in_program;
    if (settings_.arguments().in_program) in_program.emplace(*front_, settings_.objectives().front(), settings_.directions().size());
    const std::vector<TuneDevice> devices =
        in_program ? std::vector{TuneDevice{.name = devices_.front().name, .executor = *in_program}} : workers_->devices(tune_.predicts);
    TuneResult result = tuner.optimize(*store_, settings_.text("study"), space, devices, tune_, observers);
    progress_->finish();
    if (log_) log_->on(event::OthersChanged{result.trials});
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
    const bool is_programs = front_ && !own_front_;
    print_result(result, settings_, tune_.trials, kept, {.json = options_.json, .names_next = !is_programs});
    if (is_programs && !options_.json) next_line_ = tune::next_line(result, settings_, tune_.trials);
    if (front_) tell_program_of_end(result);
    if (program_gone_) return exit_code(Errc::plugin);
    return exit_status(result, kept, rule_errors_);
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
    if (counts_as_done(trial)) options_.supervised.trial_finished();
    if (const auto unmeasured = has_told_unmeasured_ ? std::nullopt : unmeasured_budget(settings_, info_, trial)) {
        has_told_unmeasured_ = true;
        note(*unmeasured);
    }
    tell_idle_batch(trial);
    tell_unasked(trial);
    if (const auto error = rule_failure(trial)) {
        if (error->message != rule_errors_.latest)
            note("a rule of the script failed and ended trial " + std::to_string(trial.number) + ": " + error->message);
        ++rule_errors_.trials;
        rule_errors_.latest = error->message;
    }
    if (checkpoints_) checkpoints_->finished(trial);
    if (models_) models_->finished(trial);
}

}  // namespace hpo::tune
