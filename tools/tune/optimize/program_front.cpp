// SPDX-License-Identifier: MIT
#include "tune/optimize/program_front.hpp"

#include <fcntl.h>
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/base/time.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "support/installation.hpp"
#include "support/text.hpp"
#include "tune/optimize/program_failure.hpp"
#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

/// How long the program may go on with what it does between two trials once the run is to end.
constexpr int seconds_after_interrupt = 5;
constexpr int poll_milliseconds = 100;

/// PYTHONPATH for a program whose calls of optimize are taken over: the folders of the package `hpo` for Python, then `present`. Throws
/// Error if the package is not there.
std::string python_path(const std::optional<std::string>& present) {
    const std::filesystem::path folder = tools::installation() / "share/hpo/python";
    const std::filesystem::path takeover = folder / "hpo" / "takeover";
    if (!std::filesystem::exists(takeover / "sitecustomize.py"))
        throw Error{Errc::usage, takeover.string() + ": hpo's package for Python is not there; it belongs beside the folder of hpo-tune"};
    const std::string own = takeover.string() + ":" + folder.string();
    if (!present || present->empty() || present->starts_with(own)) return present && !present->empty() ? *present : own;
    return own + ":" + *present;
}

/// The variables of the program. Its threads are limited to one if it forks: a pool of threads that was started before is dead in the
/// child.
worker::Environment environment_of(const std::string& socket, bool forks) {
    worker::Environment environment = worker::inherited_environment();
    worker::set_variable(environment, "PYTHONPATH", python_path(worker::variable(environment, "PYTHONPATH")));
    worker::set_variable(environment, "HPO_FRONT", socket);
    worker::set_variable(environment, "HPO_FRONT_PID", std::to_string(::getpid()));
    if (!forks) return environment;
    for (const char* threads : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
        if (!worker::variable(environment, threads)) worker::set_variable(environment, threads, "1");
    }
    // The allocators of pyarrow, which pandas imports, and of Polars would have threads of their own. Without them they give memory back a
    // little later.
    for (const char* allocator : {"JE_ARROW_MALLOC_CONF", "_RJEM_MALLOC_CONF"}) {
        if (!worker::variable(environment, allocator)) worker::set_variable(environment, allocator, "background_thread:false");
    }
    // So that a look for cards does not begin a CUDA context, which a child could not use.
    if (!worker::variable(environment, "PYTORCH_NVML_BASED_CUDA_CHECK"))
        worker::set_variable(environment, "PYTORCH_NVML_BASED_CUDA_CHECK", "1");
    return environment;
}

/// How a trial ended: a failure's kind and message, or nulls, and whether what the objective raised ends the study.
Json ending_of(const Trial& trial) {
    Json told{{"op", "finished"}, {"trial", trial.number}, {"kind", nullptr}, {"message", nullptr}, {"ends_study", false}};
    told["state"] = trial.state == TrialState::complete ? "complete" : trial.state == TrialState::pruned ? "pruned" : "fail";
    if (trial.attempts.empty() || !trial.attempts.back().failure) return told;
    const Failure& failure = *trial.attempts.back().failure;
    told["kind"] = to_text(failure.kind);
    told["message"] = failure.message;
    told["ends_study"] = trial.state == TrialState::fail && !costs_its_trial_alone(failure.kind);
    return told;
}

double internal_of(const std::string& name, const Distribution& distribution, const Json& json) {
    const auto internal = to_internal_unbounded(distribution, store::json_value(json));
    if (internal) return *internal;
    const Error wrong = bad_value("the program's sampler: parameter '" + name + "'", tools::one_line_text(json), describe(distribution));
    throw NoSuggestion{wrong.what()};
}

/// "train.py:12": the last line of a traceback that is of the program, and of no library. Empty if there is none.
std::string own_place(const std::string& traceback) {
    std::string place;
    std::istringstream lines{traceback};
    for (std::string line; std::getline(lines, line);) {
        const std::string full = place_in_source(line);
        const bool is_of_library = full.starts_with('<') || full.find("/lib/python") != std::string::npos ||
                                   full.find("-packages/") != std::string::npos || full.find("/hpo/") != std::string::npos;
        if (!full.empty() && !is_of_library) place = std::filesystem::path{full}.filename().string();
    }
    return place;
}

}  // namespace

ProgramFront::ProgramFront(const std::vector<std::string>& words, const Start& start)
    : words_{words}, connection_{folder_.path() / "front"} {
    worker::Environment environment = environment_of((folder_.path() / "front").string(), !start.in_program);
    if (start.is_look) worker::set_variable(environment, "HPO_LOOKING", "1");
    try {
        program_.emplace(worker::Process::start({.program = words.at(0),
                                                 .arguments = {words.begin() + 1, words.end()},
                                                 .environment = std::move(environment),
                                                 .output = start.output}));
    } catch (const Error& error) {
        if (error.code() != Errc::plugin) throw;
        const bool is_source = words.at(0).ends_with(".py") && std::filesystem::is_regular_file(words.at(0));
        throw Error{Errc::bad_value, error.what() + std::string{is_source ? "; a program of Python goes behind its interpreter: python " +
                                                                                tools::shell_quoted(words.at(0))
                                                                          : ""}};
    }
}

std::optional<OptimizeCall> ProgramFront::next_call() {
    for (;;) {
        if (was_interrupted() && interrupts_passed_on_ == 0) {
            ++interrupts_passed_on_;
            program_->signal(SIGINT);
        }
        if (connection_.is_open()) {
            const auto message = connection_.hear(poll_milliseconds);
            if (!connection_.is_open()) continue;
            if (message && message->value("op", "") == "optimize") {
                wants_stop_ = false;
                runs_latest_call_ = true;
                return optimize_call(*message);
            }
            if (message) heed(*message);
            continue;
        }
        if (program_->exit()) return std::nullopt;
        connection_.accept(program_->handle(), poll_milliseconds);
    }
}

int ProgramFront::wait() {
    while (next_call()) refuse("hpo-tune runs one study of this program, and it has ended");
    const worker::ProcessExit exit = *program_->exit();
    constexpr int signal_base = 128;
    return exit.status ? *exit.status : signal_base + exit.signal.value_or(0);
}

void ProgramFront::end() {
    program_->signal(SIGKILL);
    (void)program_->wait();
    connection_.close();
}

void ProgramFront::end_in_call() {
    connection_.say({{"op", "leave"}});
    if (!program_->wait(std::chrono::seconds{seconds_after_interrupt})) program_->signal(SIGKILL);
    (void)program_->wait();
    connection_.close();
}

ProgramFront::ByOptuna ProgramFront::by_optuna() const {
    std::ifstream file{folder_.path() / "front.by_optuna"};
    ByOptuna done;
    for (char what = 0; file.get(what);) {
        if (what == 'k') done.in_kernel = true;
        else ++(what == 't' ? done.tells : done.optimize_calls);
    }
    return done;
}

void ProgramFront::refuse(const std::string& message) { connection_.say({{"op", "refused"}, {"message", message}}); }

void ProgramFront::leave_to_optuna(const std::string& why) {
    runs_latest_call_ = false;
    connection_.say({{"op", "refused"}, {"message", why}, {"by_optuna", true}});
}

std::optional<std::string> ProgramFront::why_not_again(const OptimizeCall& call) {
    if (!why_not_again_) why_not_again_ = started_again(call);
    return why_not_again_;
}

std::optional<std::string> ProgramFront::started_again(const OptimizeCall& call) {
    constexpr double seconds_until_told = 10;
    const double most_seconds = 20 + 5 * since_start_.seconds();
    const std::filesystem::path reached = folder_.path() / "reached";
    const std::filesystem::path errors = folder_.path() / "errors";
    std::filesystem::remove(reached);
    worker::Environment environment = environment_of((folder_.path() / "front").string(), true);
    for (const auto& [name, value] : variables_of_new_start(call, std::nullopt)) worker::set_variable(environment, name, value);
    worker::set_variable(environment, "HPO_OPTIMIZE_REACHED", reached.string());
    const worker::Descriptor output{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    const worker::Descriptor error_output{::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    worker::Process again = worker::Process::start({.program = words_.at(0),
                                                    .arguments = {words_.begin() + 1, words_.end()},
                                                    .environment = environment,
                                                    .output = output.get(),
                                                    .errors = error_output.get()});
    const Stopwatch waited;
    bool has_told = false;
    while (!again.wait(std::chrono::milliseconds{poll_milliseconds})) {
        if (was_interrupted()) throw Error{Errc::interrupted, "interrupted while the program was started again"};
        if (waited.seconds() > most_seconds) {
            again.signal(SIGKILL);
            return "did not come to study.optimize within " + tools::duration(most_seconds) +
                   " when it was started again; perhaps it waits for something that its first start holds";
        }
        if (waited.seconds() < seconds_until_told || std::exchange(has_told, true)) continue;
        std::cerr << "hpo-tune: note: the program is started once more, to see whether it can be started for each attempt\n";
    }
    if (std::filesystem::exists(reached)) return std::nullopt;
    std::ifstream in{errors};
    const std::string said{std::istreambuf_iterator<char>{in}, {}};
    const auto raised = exceptions_in(said);
    std::string what = "ended with " + worker::exit_text(*again.exit());
    if (!raised.empty()) {
        const PythonError& last = raised.back();
        const std::string own = own_place(said);
        const std::string& place = own.empty() ? last.place : own;
        what = "raised " + last.type + (last.message.empty() ? "" : ": " + last.message.substr(0, last.message.find('\n'))) +
               (place.empty() ? "" : " at " + place);
    }
    return what + " when it was started again, before it came to study.optimize";
}

void ProgramFront::opened(const OptimizeCall& call, const std::string& store, const std::string& study) {
    studies_.push_back({call.number, store, study});
    connection_.say({{"op", "opened"}, {"store", store}, {"study", study}, {"wants_seen", true}});
    if (call.says_ready) (void)answer("ready", "the program's study");
}

std::map<std::string, double, std::less<>> ProgramFront::finished(const Trial& trial) {
    connection_.say(ending_of(trial));
    std::map<std::string, double, std::less<>> constraints;
    const auto seen = await("seen");  // a program that has gone has no callbacks any more
    if (!seen || !seen->contains("constraints")) return constraints;
    for (const auto& [name, told] : seen->at("constraints").items()) {
        if (const auto value = store::json_number(told)) constraints[name] = *value;
    }
    return constraints;
}

void ProgramFront::ended(const std::string& why, const std::string& message) {
    if (why == "interrupted") ++interrupts_passed_on_;  // the program raises KeyboardInterrupt
    connection_.say({{"op", "ended"}, {"why", why}, {"message", message}});
}

bool ProgramFront::wants_stop() {
    while (connection_.is_open() && !wants_stop_) {
        const auto message = connection_.hear(0);
        if (!message) break;
        heed(*message);
    }
    return wants_stop_;
}

std::optional<std::string> ProgramFront::gone() {
    if (connection_.is_open()) (void)wants_stop();
    if (connection_.is_open()) return std::nullopt;
    const auto how = how_it_ended();
    return "the program closed its connection" + (how ? ": " + *how : std::string{});
}

std::optional<std::string> ProgramFront::how_it_ended() {
    const auto exit = program_->wait(std::chrono::milliseconds{poll_milliseconds});
    return exit ? std::optional{worker::exit_text(*exit)} : std::nullopt;
}

ParamSet ProgramFront::proposed(std::int64_t trial, bool again) {
    connection_.say({{"op", "begin"}, {"trial", trial}, {"again", again}});
    const Json message = answer("proposed", "the program's sampler");
    ParamSet params;
    for (const auto& [name, told] : message.at("params").items()) {
        Distribution distribution =
            store::parse_distribution("the program's sampler: parameter '" + name + "'", told.at("distribution").dump());
        const double internal = internal_of(name, distribution, told.at("value"));
        params.set(name, std::move(distribution), internal);
    }
    return params;
}

double ProgramFront::drawn(std::int64_t trial, const std::string& name, const Distribution& distribution) {
    connection_.say(
        {{"op", "draw"}, {"trial", trial}, {"name", name}, {"distribution", Json::parse(store::distribution_text(distribution))}});
    const Json message = heard("drawn");
    if (message.contains("error")) throw NoSuggestion{message.at("error").get<std::string>()};
    return internal_of(name, distribution, message.at("value"));
}

bool ProgramFront::prunes(std::int64_t trial) {
    connection_.say({{"op", "judge"}, {"trial", trial}});
    return answer("judged", "the program's pruner").at("prune") == true;
}

std::string ProgramFront::opened_text(const OptimizeCall& call, const std::optional<Opened>& now) const {
    Json opened = Json::array();
    for (std::int64_t i = 0; i < call.number; ++i) opened.push_back(nullptr);
    for (const Opened& each : studies_) {
        if (each.call < call.number) opened[static_cast<std::size_t>(each.call)] = {{"store", each.store}, {"study", each.study}};
    }
    if (now) opened.push_back({{"store", now->store}, {"study", now->study}});
    return tools::one_line_text(opened);
}

std::vector<std::pair<std::string, std::string>> ProgramFront::variables_of_new_start(const OptimizeCall& call,
                                                                                      const std::optional<Opened>& now) const {
    return {{"HPO_FRONT", (folder_.path() / "front").string()},
            {"PYTHONPATH", python_path(worker::variable(worker::inherited_environment(), "PYTHONPATH"))},
            {"HPO_OPTIMIZE_CALL", std::to_string(call.number)},
            {"HPO_OPTIMIZE_STUDIES", opened_text(call, now)}};
}

std::vector<std::pair<std::string, std::string>> ProgramFront::variables_of_attempts(const OptimizeCall& call, const std::string& store,
                                                                                     const std::string& study) const {
    const Opened now{call.number, store, study};
    // For a run on a virtual card, which is always another start of the program.
    std::vector<std::pair<std::string, std::string>> variables{
        {"HPO_PREDICT_PYTHONPATH", python_path(worker::variable(worker::inherited_environment(), "PYTHONPATH"))},
        {"HPO_PREDICT_CALL", std::to_string(call.number)},
        {"HPO_PREDICT_STUDIES", opened_text(call, now)}};
    if (call.forks) {
        variables.emplace_back("HPO_FORK_SOCKET", call.fork_socket);
    } else {
        for (auto& each : variables_of_new_start(call, now)) variables.push_back(std::move(each));
    }
    return variables;
}

std::optional<Json> ProgramFront::await(const char* op) {
    constexpr double seconds_until_told = 30;
    const Stopwatch waited;
    std::optional<Stopwatch> since_interrupt;
    while (connection_.is_open()) {
        auto message = connection_.hear(poll_milliseconds);
        if (message && message->value("op", "") == op) return message;
        if (message) heed(*message);
        if (!has_told_wait_ && waited.seconds() > seconds_until_told) {
            has_told_wait_ = true;
            std::cerr
                << "hpo-tune: note: the program's own code between trials (callbacks, sampler, pruner) takes more than 30 s; the next "
                   "trials wait for it\n";
        }
        if (was_interrupted() && !since_interrupt) since_interrupt.emplace();
        if (since_interrupt && since_interrupt->seconds() > seconds_after_interrupt) end();
    }
    return std::nullopt;
}

Json ProgramFront::heard(const char* op) {
    auto message = await(op);
    if (!message) throw Error{Errc::interrupted, gone().value_or("the program closed its connection")};
    return std::move(*message);
}

Json ProgramFront::answer(const char* op, const std::string& whose) {
    Json message = heard(op);
    if (message.contains("error")) throw Error{Errc::bad_value, whose + ": " + message.at("error").get<std::string>()};
    return message;
}

void ProgramFront::run_here(std::int64_t trial, const std::map<std::string, std::string>& environment) {
    said_.clear();
    connection_.say({{"op", "run"}, {"trial", trial}, {"environment", environment}});
}

std::optional<Json> ProgramFront::next_said(int timeout_ms) {
    if (said_.empty() && connection_.is_open()) {
        if (const auto message = connection_.hear(timeout_ms)) heed(*message);
    }
    if (said_.empty()) return std::nullopt;
    Json said = std::move(said_.front());
    said_.pop_front();
    return said;
}

void ProgramFront::answer_here(const Json& answer) { connection_.say({{"op", "answer"}, {"answer", answer}}); }

void ProgramFront::heed(const Json& message) {
    if (message.value("op", "") == "said") said_.push_back(message);
    if (message.value("op", "") == "stop") wants_stop_ = true;
}

Verdict ProgramPruner::judge(const PruneQuery& query) const {
    if (!front_->prunes(query.trial.number)) return {};
    return {.answer = Verdict::Answer::prune, .reason = "the program's own pruner, at step " + std::to_string(query.step)};
}

double ProgramSampler::suggest(const Ask& ask) { return front_->drawn(ask.trial.number, ask.name, ask.distribution); }

ParamSet ProgramSampler::suggest_joint(const TrialContext& trial, Rng& /*rng*/) {
    return front_->proposed(trial.number, trial.asker == Asker::program);
}

}  // namespace hpo::tune
