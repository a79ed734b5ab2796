// SPDX-License-Identifier: MIT
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "analyze.hpp"
#include "hpo/script/recovery_answer.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "hpo/trainer/json.hpp"

using namespace hpo::test;

namespace {

/// A failed trial of ours whose attempt has every member, and a refused proposal.
void write_full_trial(const std::string& path) {
    hpo::store::Sqlite store{path};
    const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
    const hpo::Study study = store.open_study("ours", directions, hpo::Store::Open::create);
    hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    trial.params = hpo::testing::sample_params();
    store.set_params(trial);
    trial.attempts.push_back(hpo::testing::sample_attempt(0));
    store.begin_attempt(trial, trial.attempts.back());
    store.end_attempt(trial, trial.attempts.back());
    trial.state = hpo::TrialState::fail;
    store.finish(trial);
    store.reject(study.id, hpo::testing::sample_rejection());
}

/// Each row of hpo's tables about trials: the columns by name, with their type and value.
std::string rows_text(const std::string& path) {
    SQLite::Database database{path};
    std::ostringstream text;
    for (const std::string table : {"hpo_attempts", "hpo_failures", "hpo_memory", "hpo_attempt_reports", "hpo_rejections"}) {
        std::vector<std::string> types;
        SQLite::Statement column{database, "SELECT name, type, \"notnull\" FROM pragma_table_info(?)"};
        column.bind(1, table);
        while (column.executeStep())
            types.push_back(column.getColumn(0).getString() + " " + column.getColumn(1).getString() +
                            (column.getColumn(2).getInt() != 0 ? " NOT NULL" : ""));
        std::sort(types.begin(), types.end());
        text << "-- " << table << "\n";
        for (const std::string& type : types) text << type << "\n";
        SQLite::Statement row{database, "SELECT * FROM " + table};
        while (row.executeStep()) {
            std::vector<std::string> values;
            for (int i = 0; i < row.getColumnCount(); ++i) {
                const SQLite::Column value = row.getColumn(i);
                const std::string shown = value.isNull() ? "NULL" : value.isText() ? "'" + value.getString() + "'" : value.getString();
                values.push_back(std::string{value.getName()} + " = " + shown);
            }
            std::sort(values.begin(), values.end());
            text << "- a row\n";
            for (const std::string& value : values) text << value << "\n";
        }
    }
    return text.str();
}

std::string lines_of_borders() {
    const hpo::Attempt attempt = hpo::testing::sample_attempt(0);
    hpo::AttemptOutcome outcome;
    outcome.kind = hpo::OutcomeKind::stopped;
    outcome.values = {0.5, 1};
    outcome.failure = *attempt.failure;
    outcome.memory = attempt.memory;
    outcome.peak_allocated = 1;
    outcome.peak_reserved = 2;
    outcome.prunes_itself = outcome.heard_verdict = outcome.approximate = true;
    outcome.prune_reason = "why";
    outcome.attributes["a"] = "1";
    outcome.constraints["c"] = 0.25;
    outcome.worker_pid = 7;
    outcome.seconds = 1.5;
    hpo::PeakPrediction prediction;
    prediction.parts = attempt.estimate->parts;
    prediction.remark = "why";
    prediction.upper_bound = true;
    std::string text;
    for (const hpo::Json& json : {hpo::encode(*attempt.failure), hpo::encode(attempt.memory), hpo::encode(attempt.plan),
                                  hpo::encode(outcome), hpo::encode(prediction)})
        text += json.dump(1) + "\n";
    return text;
}

}  // namespace

TEST_CASE("the records of an attempt are called by the same names as ever, in tables, in JSON and in rules") {
    const Workshop workshop;
    const std::string path = workshop.file("hpo.db");
    write_full_trial(path);
    check_expected("record_rows.txt", rows_text(path));
    check_expected("record_lines.txt", lines_of_borders());
    const auto shown = [&](const std::string& command, const char* key) {  // without the times of the trial, which are now
        return nlohmann::ordered_json::parse(analyze(command + " --json --store '" + path + "'").out).at(key).dump(2) + "\n";
    };
    check_expected("record_attempts.json", shown("trial 0", "attempt_list"));
    check_expected("record_cases.json", shown("oom", "cases"));
    std::vector<std::string> words = hpo::script::recovery_answer::failure_members();
    std::sort(words.begin(), words.end());
    std::string text;
    for (const std::string& word : words) text += word + "\n";
    check_expected("record_words.txt", text);
}
