// SPDX-License-Identifier: MIT
#include "hpo/store/snapshot.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "hpo/store/sqlite.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "hpo/testing/trial_text.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using hpo::store::Json;
using hpo::store::Snapshot;
using hpo::test::read_file;
using hpo::tests::minimize;
using hpo::tests::TemporaryDirectory;

namespace {

const std::string data = std::string{HPO_SOURCE_DIR} + "/tests/data/optuna/";

/// The time zone of this process, for as long as the object lives.
class TimeZoneGuard {
public:
    explicit TimeZoneGuard(const char* zone) {
        setenv("TZ", zone, 1);
        tzset();
    }
    TimeZoneGuard(const TimeZoneGuard&) = delete;
    TimeZoneGuard& operator=(const TimeZoneGuard&) = delete;
    ~TimeZoneGuard() {
        unsetenv("TZ");
        tzset();
    }
};

/// A number, or Python's "nan", "inf", "-inf".
std::string number_of(const Json& json) {
    if (json.is_number()) return hpo::number_text(json.get<double>());
    const std::string text = json.get<std::string>();
    return text == "nan" ? "NaN" : text == "inf" ? "Infinity" : "-Infinity";
}

void compare(const hpo::Trial& trial, const Json& truth) {
    CAPTURE(trial.number);
    CHECK(hpo::to_text(trial.state) == truth.at("state").get<std::string>());
    std::vector<std::string> values;
    for (const double value : trial.values) values.push_back(hpo::number_text(value));
    std::vector<std::string> true_values;
    if (!truth.at("values").is_null()) {
        for (const Json& value : truth.at("values")) true_values.push_back(number_of(value));
    }
    CHECK(values == true_values);

    Json params = Json::object();
    for (const hpo::Param& param : trial.params) params[param.name] = hpo::store::parse_json(hpo::json_text(param.value()));
    CHECK(params == truth.at("params"));
    std::map<std::string, std::string> reports;
    for (const auto& [step, value] : trial.intermediate) reports[std::to_string(step)] = hpo::number_text(value);
    std::map<std::string, std::string> true_reports;
    for (const auto& [step, value] : truth.at("intermediate").items()) true_reports[step] = number_of(value);
    CHECK(reports == true_reports);

    Json user = Json::object();
    for (const auto& [key, json] : trial.user_attributes) user[key] = hpo::store::parse_json(json);
    if (user.contains("long")) user["long"] = std::to_string(user["long"].get<std::string>().size()) + " characters";
    CHECK(user == truth.at("user_attrs"));

    Json system = Json::object();
    for (const auto& [key, json] : trial.system_attributes) system[key] = hpo::store::parse_json(json);
    for (const auto& [key, value] : truth.at("system_attrs").items()) {
        if (key.starts_with("constraints:")) {
            CHECK(trial.constraints.at(key.substr(12)) == value.get<double>());
        } else if (key == "constraints") {
            REQUIRE(trial.constraints.size() == value.size());
            for (std::size_t i = 0; i < value.size(); ++i) CHECK(trial.constraints.at(std::to_string(i)) == value[i].get<double>());
        } else {
            CHECK(system.at(key) == value);
        }
    }
    const auto time = [](const std::optional<hpo::Time>& at) { return at ? Json(hpo::store::time_text(*at)) : Json(nullptr); };
    CHECK(time(trial.started) == truth.at("start_utc"));
    CHECK(time(trial.completed) == truth.at("complete_utc"));
}

void compare(const std::string& file) {
    const Json truth = Json::parse(std::ifstream{data + "truth.json"}).at(file).at("studies");
    const std::string before = read_file(data + file);
    Snapshot snapshot{data + file};
    const auto studies = snapshot.studies();
    REQUIRE(studies.size() == truth.size());
    std::size_t compared = 0;
    for (const hpo::Study& study : studies) {
        CAPTURE(study.name);
        const Json& expected = truth.at(study.name);
        Json directions = Json::array();
        for (const hpo::Direction direction : study.directions)
            directions.push_back(direction == hpo::Direction::minimize ? "MINIMIZE" : "MAXIMIZE");
        CHECK(directions == expected.at("directions"));
        const auto trials = snapshot.trials(study);
        REQUIRE(trials.size() == expected.at("n_trials").get<std::size_t>());
        Json states = Json::object();
        std::size_t intermediate = 0, params = 0, user = 0, system = 0;
        for (const hpo::Trial& trial : trials) {
            Json& count = states[std::string{hpo::to_text(trial.state)}];
            count = count.is_null() ? 1 : count.get<int>() + 1;
            intermediate += trial.intermediate.size();
            params += trial.params.size();
            user += trial.user_attributes.size();
            system += trial.system_attributes.size();
            if (!trial.constraints.empty()) system += file == "optuna-5.0.0.db" ? trial.constraints.size() : 1;
            CHECK(trial.attempts.empty());
        }
        CHECK(states == expected.at("states"));
        CHECK(intermediate == expected.at("intermediate_values").get<std::size_t>());
        CHECK(params == expected.at("params").get<std::size_t>());
        CHECK(user == expected.at("trial_user_attrs").get<std::size_t>());
        CHECK(system == expected.at("trial_system_attrs").get<std::size_t>());
        if (expected.contains("best_feasible") && !expected.at("best_feasible").is_null()) {
            const hpo::Trial* best = hpo::best_trial(trials, study.directions[0]);
            REQUIRE(best);
            CHECK(best->number == expected.at("best_feasible").at("number").get<std::int64_t>());
        }
        if (expected.contains("samples")) {
            for (const Json& sample : expected.at("samples")) {
                compare(trials.at(sample.at("number").get<std::size_t>()), sample);
                ++compared;
            }
        }
        CHECK(snapshot.rejections(study).empty());
    }
    CHECK(compared == 21);
    CHECK(read_file(data + file) == before);
}

}  // namespace

TEST_CASE("what Optuna 5.0.0 wrote is read as it was") { compare("optuna-5.0.0.db"); }

TEST_CASE("what Optuna 3.6.2 wrote is read as it was, its local times included") {
    const TimeZoneGuard zone{"Asia/Taipei"};
    compare("optuna-3.6.2.db");
}

TEST_CASE("a file of Optuna 3.1.0, an older revision, is read") {
    Snapshot snapshot{data + "optuna-3.1.0.db"};
    const auto study = snapshot.study("old");
    const auto trials = snapshot.trials(study);
    REQUIRE(trials.size() == 6);
    CHECK(std::isnan(trials[1].intermediate.at(1)));
    CHECK(trials[2].state == hpo::TrialState::pruned);
    CHECK(trials[3].values == std::vector{std::numeric_limits<double>::infinity()});
    CHECK(trials[4].values == std::vector{trials[4].params.number("x").value()});
    CHECK(trials[5].state == hpo::TrialState::waiting);
    CHECK(trials[5].fixed == std::vector<std::pair<std::string, hpo::Value>>{{"x", 0.5}});
}

TEST_CASE("a file of Rustuna, which has no revision and hides discarded trials, is read") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("rustuna.db");
    std::filesystem::copy_file(data + "rustuna-0.2.0.db", path);
    {
        Snapshot snapshot{path};
        const auto trials = snapshot.trials(snapshot.study("rust"));
        REQUIRE(trials.size() == 6);
        for (const hpo::Trial& trial : trials) {
            const double x = trial.params.number("x").value();
            CHECK(trial.values.at(0) == Approx(x * x + trial.params.number("k").value()));
        }
    }
    SQLite::Database{path, SQLite::OPEN_READWRITE}.exec("UPDATE trials SET discarded_at = '2026-01-01 00:00:00' WHERE number = 2");
    Snapshot snapshot{path};
    CHECK(snapshot.trials(snapshot.study("rust")).size() == 5);
    SQLite::Database{path, SQLite::OPEN_READWRITE}.exec("UPDATE trials SET state = 'WAITING' WHERE number IN (2, 4)");
    hpo::store::Sqlite store{path};
    const auto study = store.open_study("rust", {}, hpo::Store::Open::resume);
    CHECK(store.begin_trial(study.id, std::nullopt).number == 4);
    CHECK(store.begin_trial(study.id, std::nullopt).number == 6);
}

TEST_CASE("a file of before Optuna 2.4, with its values among the trials, is read") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("ancient.db");
    SQLite::Database{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE}.exec(R"sql(
        CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR(512) NOT NULL, direction VARCHAR(8) NOT NULL);
        CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER PRIMARY KEY, study_id INTEGER, "key" VARCHAR(512), value_json VARCHAR(2048));
        CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER PRIMARY KEY, study_id INTEGER, "key" VARCHAR(512), value_json VARCHAR(2048));
        CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number INTEGER, study_id INTEGER, state VARCHAR(8) NOT NULL, value FLOAT,
                             datetime_start DATETIME, datetime_complete DATETIME);
        CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER PRIMARY KEY, trial_id INTEGER, "key" VARCHAR(512), value_json VARCHAR(2048));
        CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER PRIMARY KEY, trial_id INTEGER, "key" VARCHAR(512), value_json VARCHAR(2048));
        CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, distribution_json VARCHAR(2048));
        CREATE TABLE trial_values (trial_value_id INTEGER PRIMARY KEY, trial_id INTEGER, step INTEGER, value FLOAT);
        CREATE TABLE version_info (version_info_id INTEGER PRIMARY KEY, schema_version INTEGER, library_version VARCHAR(256));
        CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
        INSERT INTO alembic_version VALUES ('v1.3.0.a');
        INSERT INTO version_info VALUES (1, 12, '2.3.0');
        INSERT INTO studies VALUES (1, 'ancient', 'MAXIMIZE');
        INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE', 0.75, '2020-01-01 00:00:00.000001', '2020-01-01 00:00:01.000000');
        INSERT INTO trial_params VALUES (1, 1, 'x', 0.5, '{"name": "UniformDistribution", "attributes": {"low": 0.0, "high": 1.0}}');
        INSERT INTO trial_values VALUES (1, 1, 0, 0.25);
    )sql");
    Snapshot snapshot{path};
    const auto study = snapshot.study("ancient");
    CHECK(study.directions == std::vector{hpo::Direction::maximize});
    const auto trials = snapshot.trials(study);
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].values == std::vector{0.75});
    CHECK(trials[0].intermediate.at(0) == 0.25);
    CHECK(trials[0].params.number("x") == 0.5);
    CHECK_THROWS_WITH(hpo::store::Sqlite{path}, Catch::Contains("too old to be written") && Catch::Contains("optuna storage upgrade"));
    CHECK_FALSE(Snapshot{path}.studies().empty());
}

TEST_CASE("a snapshot shows attempts, rejections and runs of our own files, while they are written and after") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("a%20b ?#.db");  // characters that mean something in an address
    auto store = std::make_unique<hpo::store::Sqlite>(path);
    const auto study = store->open_study("s", minimize, hpo::Store::Open::create);
    const auto run = store->begin_run(study.id, {.id = -1, .host = "", .pid = 0, .started_ticks = "", .configuration = "{\"seed\": 1}"});
    hpo::Trial trial = store->begin_trial(study.id, run.id);
    store->begin_attempt(trial, hpo::testing::sample_attempt(0));
    store->reject(study.id, hpo::testing::sample_rejection());

    Snapshot live{path};
    trial.attempts = {hpo::testing::sample_attempt(0)};
    CHECK(hpo::testing::text_of(live.trials(study).at(0)) == hpo::testing::text_of(trial));
    trial.state = hpo::TrialState::complete;
    trial.values = {1.0};
    trial.completed = hpo::now();
    store->finish(trial);
    CHECK(hpo::testing::text_of(live.trials(study).at(0)) == hpo::testing::text_of(trial));
    CHECK(hpo::testing::text_of(live.rejections(study).at(0)) == hpo::testing::text_of(hpo::testing::sample_rejection()));
    const hpo::Run stored = live.runs(study).at(0);
    CHECK(stored.configuration == "{\"seed\": 1}");
    CHECK(stored.id == run.id);
    CHECK(stored.host == run.host);
    CHECK(stored.pid == getpid());
    CHECK(stored.started_ticks == run.started_ticks);
    CHECK(stored.started == run.started);
    CHECK(stored.heartbeat == stored.started);
    CHECK_FALSE(stored.ended);
    CHECK_FALSE(hpo::store::is_gone(stored, hpo::now(), 60));
    store->end_run(run);
    CHECK(live.runs(study).at(0).ended);
    CHECK(hpo::store::is_gone(live.runs(study).at(0), hpo::now(), 60));

    store.reset();
    Snapshot closed{"sqlite:///" + path};
    CHECK(closed.trials(study).size() == 1);
    store = std::make_unique<hpo::store::Sqlite>(path);  // the promise of an unchanging file is broken: the next reading sees it
    (void)store->begin_trial(study.id, std::nullopt);
    CHECK(closed.trials(study).size() == 2);
}

TEST_CASE("looking at a file that this process writes keeps its locks") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    hpo::store::Sqlite store{path};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    for (int i = 0; i < 3; ++i) CHECK(Snapshot{path}.studies().size() == 1);
    // A connection that finds no lock on the file takes itself for the last one and, when it closes, removes the log.
    const auto status = hpo::tests::ChildProcess{[&](const auto& write) {
                            hpo::store::Sqlite{path};
                            write("closed");
                        }}.lines();
    CHECK(status == std::vector<std::string>{"closed"});
    CHECK(std::filesystem::exists(path + "-wal"));
    CHECK(store.begin_trial(study.id, std::nullopt).number == 0);
}

TEST_CASE("looking changes no byte, not even beside a file whose writer was killed") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("killed.db");
    const pid_t writer = fork();
    if (writer == 0) {
        hpo::store::Sqlite store{path};
        const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
        for (int i = 0; i < 5; ++i) (void)store.begin_trial(study.id, std::nullopt);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(writer, &status, 0) == writer);
    REQUIRE(WIFSIGNALED(status));
    const std::string file = read_file(path);
    const std::string log = read_file(path + "-wal");
    REQUIRE_FALSE(log.empty());
    {
        Snapshot snapshot{path};
        CHECK(snapshot.trials(snapshot.study("s")).size() == 5);
    }
    CHECK(read_file(path) == file);
    CHECK(read_file(path + "-wal") == log);
}

TEST_CASE("a file in a directory that cannot be written is read, and nothing appears beside it") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    {
        hpo::store::Sqlite store{path};
        (void)store.begin_trial(store.open_study("s", minimize, hpo::Store::Open::create).id, std::nullopt);
    }
    const std::string file = read_file(path);
    std::filesystem::permissions(path, std::filesystem::perms{0444});
    std::filesystem::permissions(directory.path(), std::filesystem::perms{0555});
    const pid_t reader = fork();
    if (reader == 0) {  // as a user whom permissions bind
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
        try {
            Snapshot snapshot{path};
            _exit(snapshot.trials(snapshot.study("s")).size() == 1 ? 0 : 1);
        } catch (const std::exception&) {
            _exit(2);
        }
    }
    int status = 0;
    REQUIRE(waitpid(reader, &status, 0) == reader);
    std::filesystem::permissions(directory.path(), std::filesystem::perms{0755});
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(read_file(path) == file);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{directory.path()}) ++files;
    CHECK(files == 1);
}

TEST_CASE("studies of one file are read apart, however their trials lie between each other") {
    const TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    constexpr std::size_t studies = 3;
    std::array<std::vector<hpo::Trial>, studies> written;
    {
        hpo::store::Sqlite store{path};
        std::vector<hpo::Study> opened;
        for (std::size_t i = 0; i < studies; ++i)
            opened.push_back(store.open_study("s" + std::to_string(i), minimize, hpo::Store::Open::create));
        // One alone, then in turns, then a long stretch of the last one, then the other two again.
        for (std::size_t i = 0; i < 820; ++i) {
            const std::size_t owner = i < 20 ? 0 : i < 100 ? i % studies : i < 800 ? studies - 1 : i % 2;
            hpo::Trial trial = store.begin_trial(opened[owner].id, std::nullopt);
            trial.params.set("x", hpo::FloatDistribution{0, 1, false, std::nullopt}, 0.001 * static_cast<double>(i));
            if (i % 3 == 0) trial.params.set("n", hpo::IntDistribution{0, 1000, false, 1}, static_cast<double>(i));
            store.set_params(trial);
            hpo::Attempt attempt = hpo::testing::sample_attempt(0);
            if (i % 4 != 0) attempt.failure.reset();
            store.begin_attempt(trial, attempt);
            trial.attempts.push_back(attempt);
            store.report(trial, {static_cast<std::int64_t>(i), 0.5});
            store.end_attempt(trial, attempt);
            trial.state = hpo::TrialState::complete;
            trial.values = {static_cast<double>(i)};
            trial.user_attributes["i"] = static_cast<int>(i);
            trial.constraints["c"] = static_cast<double>(i);
            store.finish(trial);
            written[owner].push_back(trial);
        }
    }
    Snapshot snapshot{path};
    for (std::size_t owner = 0; owner < studies; ++owner) {
        const hpo::Study study = snapshot.study("s" + std::to_string(owner));
        const std::vector<hpo::Trial> read = snapshot.trials(study);
        std::vector<hpo::Trial> brief = snapshot.trials(study, {.params = false, .reports = false, .details = false});
        snapshot.add_params(study, brief);
        REQUIRE(read.size() == written[owner].size());
        REQUIRE(brief.size() == read.size());
        for (std::size_t i = 0; i < read.size(); ++i) {
            const hpo::Trial& trial = written[owner][i];
            CAPTURE(owner, i);
            REQUIRE(read[i].id == trial.id);
            REQUIRE(read[i].params == trial.params);
            REQUIRE(read[i].values == trial.values);
            REQUIRE(read[i].intermediate.size() == 1);
            REQUIRE(read[i].intermediate.begin()->first == static_cast<std::int64_t>(trial.values[0]));
            REQUIRE(read[i].user_attributes.at("i") == trial.user_attributes.at("i"));
            REQUIRE(read[i].constraints == trial.constraints);
            REQUIRE(read[i].attempts.size() == 1);
            REQUIRE(hpo::testing::text_of(read[i].attempts[0]) == hpo::testing::text_of(trial.attempts[0]));
            REQUIRE(brief[i].id == trial.id);
            REQUIRE(brief[i].params == trial.params);
            REQUIRE(brief[i].values == trial.values);
            REQUIRE(brief[i].attempts.size() == 1);
            REQUIRE(brief[i].attempts[0].failure.has_value() == trial.attempts[0].failure.has_value());
            REQUIRE(brief[i].attempts[0].plan == trial.attempts[0].plan);
            REQUIRE(brief[i].attempts[0].memory.at(0).reading.allocated == trial.attempts[0].memory.at(0).reading.allocated);
        }
    }
}
