// SPDX-License-Identifier: MIT
// What tests/interop/interop.py lets this side do with a store: `interop_store write|dump|continue FILE ...`.
#include <cmath>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/testing/sample_trial.hpp"

namespace {

using Json = nlohmann::json;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

Json dump_trial(const hpo::Trial& trial) {
    Json json{{"number", trial.number}, {"state", hpo::to_text(trial.state)}, {"values", nullptr}};
    for (const double value : trial.values) json["values"].push_back(number(value));
    for (const char* key : {"params", "distributions", "intermediate", "user_attrs", "system_attrs", "constraints"})
        json[key] = Json::object();
    for (const hpo::Param& param : trial.params) {
        json["params"][param.name] = hpo::store::parse_json(hpo::json_text(param.value()));
        json["distributions"][param.name] = hpo::store::parse_json(hpo::store::distribution_text(*param.distribution));
    }
    for (const auto& [step, value] : trial.intermediate) json["intermediate"][std::to_string(step)] = number(value);
    for (const auto& [key, text] : trial.user_attributes) json["user_attrs"][key] = hpo::store::parse_json(text);
    for (const auto& [key, text] : trial.system_attributes) json["system_attrs"][key] = hpo::store::parse_json(text);
    for (const auto& [name, value] : trial.constraints) json["constraints"][name] = number(value);
    json["start"] = trial.started ? Json(hpo::store::time_text(*trial.started)) : Json(nullptr);
    json["complete"] = trial.completed ? Json(hpo::store::time_text(*trial.completed)) : Json(nullptr);
    return json;
}

void dump(const std::string& path) {
    hpo::store::Snapshot snapshot{path};
    Json json = Json::object();
    for (const hpo::Study& study : snapshot.studies()) {
        Json& entry = json[study.name];
        entry["directions"] = Json::array();
        for (const hpo::Direction direction : study.directions) entry["directions"].push_back(hpo::to_text(direction));
        entry["user_attrs"] = Json::object();
        for (const auto& [key, text] : study.user_attributes) entry["user_attrs"][key] = hpo::store::parse_json(text);
        entry["trials"] = Json::array();
        const auto trials = snapshot.trials(study);
        for (const hpo::Trial& trial : trials) entry["trials"].push_back(dump_trial(trial));
        if (study.directions.size() == 1) {
            const hpo::Trial* best = hpo::best_trial(trials, study.directions[0]);
            entry["best"] = best ? Json(best->number) : Json(nullptr);
        }
        entry["attempts"] = 0;
        for (const hpo::Trial& trial : trials) entry["attempts"] = entry["attempts"].get<std::size_t>() + trial.attempts.size();
        entry["rejections"] = snapshot.rejections(study).size();
    }
    std::cout << json.dump() << '\n';
}

/// Every kind of thing that a store holds.
void write(const std::string& path) {
    hpo::store::Sqlite store{path};
    const std::vector<hpo::Direction> minimize{hpo::Direction::minimize};
    const auto study = store.open_study("hpo", minimize, hpo::Store::Open::create);
    store.set_study_user_attribute(study.id, "note", "{\"of\": [\"us\", 1.5, null, \"\\u00e9\xC3\xA9\"]}");
    const auto run = store.begin_run(study.id, {});
    for (int i = 0; i < 12; ++i) {
        hpo::Trial trial = store.begin_trial(study.id, run.id);
        trial.params = hpo::testing::sample_params();
        trial.params.set("x", hpo::FloatDistribution{-5.0, 5.0, false, std::nullopt}, 0.5 * i - 3);
        store.set_params(trial);
        store.begin_attempt(trial, hpo::testing::sample_attempt(0));
        store.end_attempt(trial, hpo::testing::sample_attempt(0));
        store.keep_log(trial, 0, "epoch 1");
        for (int step = 0; step < 4; ++step)
            store.report(trial, {step * 10, i == 2 && step == 1 ? nan : i == 3 ? infinity : i == 4 ? -infinity : 1.0 / (step + 1)});
        trial.state = i % 4 == 1 ? hpo::TrialState::pruned : i % 6 == 5 ? hpo::TrialState::fail : hpo::TrialState::complete;
        if (trial.state == hpo::TrialState::complete) trial.values = {i == 8 ? infinity : std::pow(trial.params.number("x").value(), 2)};
        if (i == 1) trial.values = {0.25};
        trial.user_attributes = {{"oom", i % 2 == 0 ? "true" : "false"},
                                 {"note", hpo::json_quote("line\n\"é\" \\ \xF0\x9F\x98\x80")},
                                 {"list", "[1, {\"a\": null}]"}};
        trial.system_attributes = {{"grid_id", std::to_string(i)}};
        trial.constraints = {{"memory", i == 6 ? 0.5 : -0.25}, {"time", -1.0}};
        store.finish(trial);
    }
    store.reject(study.id, hpo::testing::sample_rejection());
    (void)store.begin_trial(study.id, std::nullopt);
    store.enqueue(study.id, {{"x", 1.5}, {"layers", std::int64_t{2}}, {"a", std::string{"adamw"}}});

    const std::vector<hpo::Direction> both{hpo::Direction::minimize, hpo::Direction::maximize};
    const auto second = store.open_study("hpo two", both, hpo::Store::Open::create);
    for (int i = 0; i < 3; ++i) {
        hpo::Trial trial = store.begin_trial(second.id, std::nullopt);
        trial.params.set("x", hpo::FloatDistribution{0.0, 1.0, false, std::nullopt}, 0.25 * i);
        store.set_params(trial);
        trial.state = hpo::TrialState::complete;
        trial.values = {0.25 * i, i == 2 ? -infinity : 1.0 * i};
        store.finish(trial);
    }
}

/// Goes on with a study for some trials, waiting ones first, in the space that the study has already.
void go_on(const std::string& path, const std::string& name, int count) {
    hpo::store::Sqlite store{path};
    const auto study = store.open_study(name, {}, hpo::Store::Open::resume);
    const auto run = store.begin_run(study.id, {});
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < count; ++i) {
        hpo::Trial trial = store.begin_trial(study.id, run.id);
        double x = 0.001 * static_cast<double>(trial.number);
        for (const auto& [key, value] : trial.fixed) {
            if (key == "x") x = hpo::to_internal(hpo::FloatDistribution{-5.0, 5.0, false, std::nullopt}, value).value();
        }
        trial.params.set("x", hpo::FloatDistribution{-5.0, 5.0, false, std::nullopt}, x);
        store.set_params(trial);
        store.begin_attempt(trial, hpo::testing::sample_attempt(0));
        store.report(trial, {0, x});
        trial.state = hpo::TrialState::complete;
        trial.values = {x * x};
        trial.user_attributes["by"] = "\"hpo\"";
        trial.constraints["memory"] = -0.5;
        store.finish(trial);
        trials.push_back(trial);
        store.refresh(study.id, trials);
    }
    store.end_run(run);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words{argv + 1, argv + argc};
    try {
        if (words.size() == 2 && words[0] == "write") write(words[1]);
        else if (words.size() == 2 && words[0] == "dump") dump(words[1]);
        else if (words.size() == 4 && words[0] == "continue") go_on(words[1], words[2], std::stoi(words[3]));
        else throw hpo::Error{hpo::Errc::usage, "interop_store write FILE | dump FILE | continue FILE STUDY COUNT"};
    } catch (const hpo::Error& error) {
        std::cerr << "interop_store: error: " << error.what() << '\n';
        return hpo::exit_code(error.code());
    }
    return 0;
}
