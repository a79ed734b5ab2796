// SPDX-License-Identifier: MIT
#include "tune/serve/server.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/analysis/best.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/tuner/verdicts.hpp"
#include "support/latest_run.hpp"
#include "tune/study_run/rescued_store.hpp"

namespace hpo::tune {
namespace {

using tools::Json;
using tools::to_json;

constexpr const char* a_trial = "the number of a trial that 'ask' began";

std::string answer_text(Json answer, const std::string& id) {
    if (!id.empty()) answer["id"] = Json::parse(id);
    return tools::one_line_text(answer);
}

/// A request may be long, and then so is what an error says of it.
Json refusal(std::string what) {
    constexpr std::size_t longest_bytes = 2000;
    tuner::clip(what, longest_bytes);
    return {{"ok", false}, {"error", what}};
}

/// The state as `tell` takes it: "complete", "pruned", "fail"; also "running" and "waiting".
std::string state_word(TrialState state) {
    std::string word{to_text(state)};
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
}

Json trial_json(const Trial& trial) {
    Json values = Json::array();
    for (const double value : trial.values) values.push_back(to_json(value));
    Json reports = Json::array();
    for (const auto& [step, value] : trial.intermediate) reports.push_back({step, to_json(value)});
    Json constraints = Json::object();
    for (const auto& [name, value] : trial.constraints) constraints[name] = to_json(value);
    Json json{{"trial", trial.number},
              {"state", state_word(trial.state)},
              {"values", std::move(values)},
              {"params", to_json(trial.params)},
              {"reports", std::move(reports)},
              {"constraints", std::move(constraints)},
              {"attrs", to_json(trial.user_attributes)},
              {"started", tools::time_or_null(trial.started)},
              {"completed", tools::time_or_null(trial.completed)}};
    if (trial.state == TrialState::waiting) json["enqueued"] = tools::named_values(trial.fixed);
    return json;
}

/// Saves what a store holds whose file is not in its place any more. Returns what a person should know.
std::string saved_elsewhere(store::Sqlite& file) {
    const std::string happened = "store '" + file.path() + "': the file " + file.displaced().value_or("") + " while it was open; ";
    try {
        return happened + "all that it held is saved in '" + rescue(file) + "'";
    } catch (const Error& error) {
        return happened + "what it held is lost, since it could not be saved elsewhere: " + error.what();
    }
}

void add_notes(Json& answer, const std::vector<std::string>& notes) {
    if (!notes.empty()) answer["notes"] = notes;
}

}  // namespace

std::string Server::answer(std::string_view line) {
    std::string id;
    try {
        const Request request{line};
        id = request.id();
        return answer_text(do_request(request), id);
    } catch (const std::exception& error) {  // whatever a request causes, the session goes on
        return answer_text(refusal(error.what()), id);
    }
}

std::string Server::answer_to_long_line(std::size_t most_bytes) {
    return answer_text(
        refusal(bad_value("request", "a line above " + format_bytes(static_cast<std::int64_t>(most_bytes)), "a shorter one").what()), {});
}

void Server::heartbeat() {
    for (auto& [name, served] : studies_) {
        try {
            served.asks->heartbeat();
        } catch (const Error&) {  // the next request to the store says it
        }
    }
}

void Server::close(tuner::LeftOpen why) {
    std::exception_ptr first;
    for (auto& [name, served] : studies_) {
        try {
            served.asks->close(why);
        } catch (const Error&) {
            if (!first) first = std::current_exception();
        }
    }
    std::map<std::string, store::Sqlite*> displaced;  // by path: studies of one file are saved once, after all have ended
    for (auto& [name, served] : studies_) {
        auto* const file = dynamic_cast<store::Sqlite*>(served.store.get());
        if (file && file->displaced()) displaced[file->path()] = file;
    }
    std::string saved;
    for (const auto& [path, file] : displaced) saved += (saved.empty() ? "" : "; ") + saved_elsewhere(*file);
    studies_.clear();
    if (!saved.empty()) throw Error{Errc::store, saved};
    if (first) std::rethrow_exception(first);
}

Json Server::do_request(const Request& request) {
    static const std::vector<std::pair<std::string, Json (Server::*)(const Request&)>> ops{{"create_study", &Server::create_study},
                                                                                           {"ask", &Server::ask},
                                                                                           {"suggest", &Server::suggest},
                                                                                           {"report", &Server::report},
                                                                                           {"tell", &Server::tell},
                                                                                           {"enqueue", &Server::enqueue},
                                                                                           {"best", &Server::best},
                                                                                           {"trials", &Server::trials},
                                                                                           {"quit", &Server::quit}};
    std::vector<std::string> names;
    for (const auto& [name, op] : ops) {
        if (name == request.op()) return (this->*op)(request);
        names.push_back(name);
    }
    throw unknown_name("request", "op", request.op(), names);
}

Json Server::create_study(const Request& request) {
    request.require_only({"directions", "store", "sampler", "pruner"});
    const std::string name = request.text("study", "the study's name, a text");
    if (studies_.contains(name)) {
        throw Error{Errc::usage, "create_study: study '" + name + "' is open in this session; go on with it, or choose another name"};
    }
    TuneOptions options;
    options.directions = request.directions();
    std::unique_ptr<Store> store;
    if (request.has("store")) store = open_store_(request.text("store", "a path, sqlite:///PATH, or null for a study in memory"));
    else store = std::make_unique<store::InMemory>();
    const std::vector<Study> known = store->studies();
    const auto stored = std::ranges::find(known, name, &Study::name);
    const bool is_new = stored == known.end();
    if (options.directions.empty()) options.directions = is_new ? std::vector{Direction::minimize} : stored->directions;

    const bool is_single = options.directions.size() == 1;
    const auto* const file = is_new ? nullptr : dynamic_cast<const store::Sqlite*>(store.get());
    const auto latest = file ? tools::latest_setting(file->path(), stored->id, "sampler", {}) : std::nullopt;
    const auto sampler = request.policy("sampler", latest.value_or("auto"));
    const auto pruner = request.policy("pruner", is_single ? "median" : "none");
    const auto sampler_spec = registry::parse_policy_spec("create_study: sampler", sampler.spec);
    const auto pruner_spec = registry::parse_policy_spec("create_study: pruner", pruner.spec);
    auto made_sampler = registries_.samplers.make("create_study: sampler", sampler_spec);
    auto made_pruner = registries_.pruners.make("create_study: pruner", pruner_spec);
    try {
        require_objectives(made_sampler, options.directions.size());
    } catch (const Error& error) {
        throw Error{error.code(), "create_study: sampler: " + std::string{error.what()}};
    }
    if (!is_single && pruner_spec.name != "none")
        throw bad_value("create_study: pruner", json_quote(pruner_spec.name) + " for several objectives",
                        "none: trials are compared by one value");

    options.seed = static_cast<std::uint64_t>(sampler.seed.value_or(0));
    options.run = Run{.configuration = tools::one_line_text({{"command", "serve"},
                                                             {"sampler", registry::to_text(sampler_spec)},
                                                             {"pruner", registry::to_text(pruner_spec)},
                                                             {"seed", options.seed}})};
    auto asks = std::make_unique<AskTell>(*store, name, std::move(made_sampler), std::move(made_pruner), std::move(options), silent_);
    Json directions = Json::array();
    for (const Direction direction : asks->study().directions) directions.push_back(to_text(direction));
    Json answer{
        {"ok", true}, {"study", name}, {"directions", std::move(directions)}, {"is_new", is_new}, {"trials", asks->trials().size()}};
    studies_.emplace(name, Served{std::move(store), std::move(asks)});
    return answer;
}

Server::AskTell& Server::study_of(const Request& request) {
    std::vector<std::string> names;
    for (const auto& [name, served] : studies_) names.push_back(name);
    auto found = studies_.begin();
    if (request.has("study")) {
        const std::string name = request.text("study", "the name of a study of this session");
        found = studies_.find(name);
        if (found == studies_.end()) throw unknown_name(request.op(), "study", name, names);
    } else if (names.empty()) {
        throw bad_value(request.op(), "no study", "create_study first");
    } else if (names.size() > 1) {
        throw bad_value(request.op(), "no study, and several are open", "\"study\": one of " + join_names(names));
    }
    // What is written to a file that was removed would be lost with the session.
    auto* const file = dynamic_cast<store::Sqlite*>(found->second.store.get());
    if (const auto what = file ? file->displaced() : std::nullopt) {
        throw Error{Errc::store, "store '" + file->path() + "': the file " + *what +
                                     " while it was open; put it back, or end the session, which saves what the store held to a new file"};
    }
    return *found->second.asks;
}

Json Server::ask(const Request& request) {
    request.require_only({"space"});
    AskTell& study = study_of(request);
    const auto asked = study.ask(request.space(distributions_));
    Json answer{{"ok", true}, {"trial", asked.trial}, {"params", to_json(asked.params)}};
    if (asked.in_place_of) answer["in_place_of"] = *asked.in_place_of;
    add_notes(answer, asked.notes);
    return answer;
}

Json Server::suggest(const Request& request) {
    request.require_only({"trial", "name", "distribution"});
    AskTell& study = study_of(request);
    const std::string name = request.text("name", "the parameter's name, a text");
    const Value value = study.suggest(request.whole("trial", a_trial), name, request.distribution(distributions_));
    return {{"ok", true}, {"value", to_json(value)}};
}

Json Server::report(const Request& request) {
    request.require_only({"trial", "step", "value", "last"});
    AskTell& study = study_of(request);
    const Report told{.step = request.whole("step", "a whole number of at least 0"),
                      .value = request.number("value", "a number: the objective at this step"),
                      .is_last = request.truth("last")};
    const std::int64_t trial = request.whole("trial", a_trial);
    const auto reported = study.report(trial, told);
    Json answer{{"ok", true}, {"prune", reported.prune}};
    if (reported.is_repeated)
        add_notes(answer,
                  {"trial " + std::to_string(trial) + " has a value of step " + std::to_string(told.step) + " already, which stays"});
    return answer;
}

Json Server::tell(const Request& request) {
    request.require_only({"trial", "state", "values", "constraints", "attrs", "error"});
    AskTell& study = study_of(request);
    Json answer{{"ok", true}};
    add_notes(answer, study.tell(request.whole("trial", a_trial), request.told()));
    return answer;
}

Json Server::enqueue(const Request& request) {
    request.require_only({"params"});
    AskTell& study = study_of(request);
    return {{"ok", true}, {"trial", study.enqueue(request.values_by_name())}};
}

Json Server::best(const Request& request) {
    request.require_only({});
    AskTell& study = study_of(request);
    study.refresh();
    Json list = Json::array();
    for (const Trial* trial : analysis::best_trials(study.trials(), study.study().directions)) list.push_back(trial_json(*trial));
    return {{"ok", true}, {"best", std::move(list)}};
}

Json Server::trials(const Request& request) {
    request.require_only({});
    AskTell& study = study_of(request);
    study.refresh();
    Json list = Json::array();
    for (const Trial& trial : study.trials()) list.push_back(trial_json(trial));
    return {{"ok", true}, {"trials", std::move(list)}};
}

Json Server::quit(const Request& request) {
    request.require_only({});
    has_quit_ = true;
    close(tuner::LeftOpen::stopped);
    return {{"ok", true}};
}

}  // namespace hpo::tune
