// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/best.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/settings/settings.hpp"
#include "tune/settings/stored_study.hpp"

namespace hpo::tune {
namespace {

using tools::Json;
using NamedValues = std::vector<std::pair<std::string, Value>>;

struct EnqueueOptions {
    std::vector<std::string> words;  ///< the study, and NAME=VALUE
    std::string store = "hpo.db";
    std::string from;
    std::string csv;
    std::int64_t best = 1;
    bool as_json = false;
};

/// What is to wait, and what was left out of it.
struct ToEnqueue {
    std::vector<NamedValues> trials;
    std::vector<std::string> notes;
};

/// The latest distribution of each parameter that the trials have.
std::map<std::string, std::shared_ptr<const Distribution>> distributions_of(const std::vector<Trial>& trials) {
    std::map<std::string, std::shared_ptr<const Distribution>> known;
    for (const Trial& trial : trials) {
        for (const Param& param : trial.params) known[param.name] = param.distribution;
    }
    return known;
}

/// The values of one trial. `place` says where they stand.
NamedValues typed_values(const std::string& place, const std::vector<std::string>& assignments, const std::vector<Trial>& trials) {
    const auto known = distributions_of(trials);
    NamedValues values;
    for (const std::string& text : assignments) {
        auto [name, value] = parse_assignment(place, text);
        if (std::ranges::find(values, name, &NamedValues::value_type::first) != values.end())
            throw Error{Errc::usage, place + ": " + name + " is given twice"};
        const auto found = known.find(name);
        if (found != known.end()) {
            if (!to_internal_as_written(*found->second, value))
                throw bad_value((place == "enqueue" ? "" : place + ": ") + "parameter '" + name + "'", display_text(value),
                                describe(*found->second));
        } else if (!known.empty()) {
            std::vector<std::string> names;
            for (const auto& each : known) names.push_back(each.first);
            throw unknown_name(place, "parameter", name, names);
        }
        values.emplace_back(std::move(name), std::move(value));
    }
    return values;
}

/// The cells of a line of a CSV file (RFC 4180). A cell in quotes may hold commas, and quotes that stand twice.
std::vector<std::string> csv_cells(const std::string& line, const std::string& place) {
    std::vector<std::string> cells(1);
    bool is_quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c != '"' && (is_quoted || (c != ',' && c != '\r'))) cells.back() += c;
        else if (c == ',') cells.emplace_back();
        else if (c == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"') cells.back() += line[++i];
        else if (c == '"') is_quoted = !is_quoted;
    }
    if (is_quoted) throw Error{Errc::bad_value, place + ": expected an end of the quotes; a cell has one line"};
    return cells;
}

/// A trial for each line of a CSV file, whose first line names the parameters. An empty cell is not given. Where columns begin with
/// `params_`, as Optuna's trials_dataframe() writes them, the others are no parameters.
ToEnqueue read_csv(const std::string& file, const std::vector<Trial>& trials) {
    constexpr std::size_t most_trials = 1000;
    std::ifstream in{file};
    std::string line;
    if (!in || !std::getline(in, line)) throw Error{Errc::bad_value, "--csv " + file + ": there is no such file, or it is empty"};
    static const std::string prefix = "params_";
    std::vector<std::string> names = csv_cells(line, "--csv " + file + ":1");
    const bool has_prefix = std::ranges::any_of(names, [](const std::string& name) { return name.starts_with(prefix); });
    for (std::string& name : names) {
        if (has_prefix) name = name.starts_with(prefix) ? name.substr(prefix.size()) : std::string{};
    }
    ToEnqueue request;
    for (std::size_t number = 2; std::getline(in, line); ++number) {
        const std::string place = "--csv " + file + ":" + std::to_string(number);
        if (line.empty() || line == "\r") continue;
        if (request.trials.size() == most_trials) throw Error{Errc::bad_value, place + ": more than 1000 trials"};
        const std::vector<std::string> cells = csv_cells(line, place);
        if (cells.size() != names.size())
            throw bad_value(place, std::to_string(cells.size()) + " cells", std::to_string(names.size()) + ", as the first line has");
        std::vector<std::string> assignments;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!names[i].empty() && !cells[i].empty()) assignments.push_back(names[i] + "=" + cells[i]);
        }
        if (!assignments.empty()) request.trials.push_back(typed_values(place, assignments, trials));
    }
    if (request.trials.empty()) throw Error{Errc::bad_value, "--csv " + file + ": it has no trial"};
    return request;
}

/// The best trials of another study, with the values that this study can have.
ToEnqueue taken_from(store::Sqlite& store, const Study& other, std::int64_t best, const std::vector<Trial>& trials) {
    std::vector<Trial> others;
    store.refresh(other.id, others);
    const auto found = analysis::best_trials(others, other.directions, static_cast<std::size_t>(best));
    if (found.empty()) throw Error{Errc::bad_value, "--from: study '" + other.name + "' has no complete and feasible trial"};
    const auto known = distributions_of(trials);
    ToEnqueue request;
    for (const Trial* const trial : found) {
        NamedValues values;
        for (const Param& param : trial->params) {
            const auto own = known.find(param.name);
            const bool is_possible = own != known.end() ? to_internal_as_written(*own->second, param.value()).has_value() : known.empty();
            if (is_possible) values.emplace_back(param.name, param.value());
            else
                request.notes.push_back(
                    "trial " + std::to_string(trial->number) + " of " + other.name + ": " + param.name + " " + display_text(param.value()) +
                    " is left out: " + (own == known.end() ? "the study has no such parameter" : "it is " + describe(*own->second)));
        }
        if (values.empty()) throw Error{Errc::bad_value, "--from: no parameter of study '" + other.name + "' is one of this study"};
        request.trials.push_back(std::move(values));
    }
    return request;
}

int enqueue(const EnqueueOptions& options) {
    const std::string file = store::file_of(options.store);
    const std::string place = "store '" + file + "'";
    std::vector<std::string> assignments = options.words;
    std::string name;
    if (!assignments.empty() && assignments.front().find('=') == std::string::npos) {
        name = assignments.front();
        assignments.erase(assignments.begin());
    }
    if (int{!assignments.empty()} + int{!options.from.empty()} + int{!options.csv.empty()} != 1)
        throw Error{Errc::usage, "enqueue: expected NAME=VALUE for some parameters, --from STUDY or --csv FILE"};
    if (options.best < 1) throw bad_value("--best", std::to_string(options.best), "1 or more");
    if (!std::filesystem::exists(file)) throw Error{Errc::store, place + ": there is no such file"};
    store::Sqlite store{options.store};
    const std::vector<Study> studies = store.studies();
    const Study study = study_named(place, studies, name);
    std::vector<Trial> trials;
    store.refresh(study.id, trials);
    const ToEnqueue request = !options.from.empty()  ? taken_from(store, study_named("--from", studies, options.from), options.best, trials)
                              : !options.csv.empty() ? read_csv(options.csv, trials)
                                                     : ToEnqueue{.trials = {typed_values("enqueue", assignments, trials)}, .notes = {}};
    Json waiting = Json::array();
    for (const NamedValues& values : request.trials) {
        const Trial trial = store.enqueue(study.id, values);
        if (options.as_json) {
            waiting.push_back({{"trial", trial.number}, {"params", tools::named_values(values)}});
            continue;
        }
        std::string text;
        for (const auto& [param, value] : values) text += (text.empty() ? "" : ", ") + param + " " + display_text(value);
        std::cout << tools::one_line("trial " + std::to_string(trial.number) + " waits: " + text, 10'000) << "\n";
    }
    for (const std::string& note : request.notes) std::cerr << "hpo-tune: note: " << tools::on_one_line(note) << "\n";
    if (options.as_json) tools::print({{"store", file}, {"study", study.name}, {"waiting", waiting}});
    else std::cout << "the next run of study " << tools::on_one_line(study.name) << " begins with what waits\n";
    return 0;
}

}  // namespace

void add_enqueue(tools::CommandLine& line) {
    auto* command = line.add("enqueue", "Let a study try parameters that you know to be good, before others");
    auto options = std::make_shared<EnqueueOptions>();
    command->add_option("words", options->words, "STUDY, which is not needed if the store has only one, and NAME=VALUE of its parameters");
    command->add_option("--store", options->store, "path or sqlite:/// address of a store of hpo's or of Optuna's")->capture_default_str();
    command->add_option("--from", options->from, "another study of the store, whose best parameters are taken");
    command->add_option("--best", options->best, "with --from: how many of its best trials")->capture_default_str();
    command->add_option("--csv", options->csv, "a CSV file with the parameters' names in its first line, and a trial in each other one");
    command->add_flag("--json", options->as_json, "print JSON");
    command->footer(
        "Parameters that are not given are drawn by the sampler. A value that the study's parameter cannot have is refused, as far as\n"
        "earlier trials show what it can have. Waiting trials run when the study goes on: with hpo-tune run, or with study.optimize\n"
        "of Optuna. They count among --trials.\n" +
        std::string{exit_codes});
    line.on(command, [options] { return enqueue(*options); });
}

}  // namespace hpo::tune
