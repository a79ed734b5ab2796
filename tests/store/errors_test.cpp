// SPDX-License-Identifier: MIT
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using hpo::store::Snapshot;
using hpo::store::Sqlite;
using hpo::test::read_file;
using hpo::test::write_file;
using hpo::tests::ChildProcess;
using hpo::tests::minimize;
using hpo::tests::TemporaryDirectory;

namespace {

/// "code: message" of the Error that `work` throws.
template <class Work>
std::string error_of(Work&& work) {
    try {
        work();
    } catch (const hpo::Error& error) {
        CHECK(std::string{error.what()}.find('\n') == std::string::npos);
        return std::to_string(hpo::exit_code(error.code())) + ": " + error.what();
    }
    return "no error";
}

/// A store with one complete trial.
void make_store(const std::string& path, int trials = 1) {
    Sqlite store{path};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    for (int i = 0; i < trials; ++i) {
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.state = hpo::TrialState::complete;
        trial.values = {0.5};
        trial.user_attributes["text"] = "\"" + std::string(500, 'x') + "\"";
        store.finish(trial);
    }
}
void run_sql(const std::string& path, const char* sql) { SQLite::Database{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE}.exec(sql); }

/// What a user whom permissions bind sees.
std::string as_nobody(const std::function<void()>& work) {
    ChildProcess child{[&](const auto& write) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) write("could not become another user");
        try {
            work();
            write("no error");
        } catch (const hpo::Error& error) {
            write(std::to_string(hpo::exit_code(error.code())) + ": " + error.what());
        }
    }};
    return child.line();
}

}  // namespace

TEST_CASE("what is no store is refused in one line and left as it is") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("notes.txt");
    write_file(path, "These are notes, and certainly no database. They are long enough to have a first page. " + std::string(4096, '.'));
    const std::string before = read_file(path);
    for (const auto& open : std::vector<std::function<void()>>{[&] { Sqlite{path}; }, [&] { Snapshot{path}; }}) {
        CHECK_THAT(error_of(open), Catch::StartsWith("3: store '" + path + "': is not an SQLite database"));
        CHECK_THAT(error_of([&] { Sqlite{directory.path()}; }), Catch::Contains("is a directory"));
    }
    CHECK(read_file(path) == before);
    CHECK_THAT(error_of([&] { Snapshot{directory.path()}; }), Catch::Contains("is a directory"));
    CHECK_THAT(error_of([&] { Snapshot{directory.file("none.db")}; }), Catch::Contains("does not exist"));
    CHECK_FALSE(std::filesystem::exists(directory.file("none.db")));
    CHECK_THAT(error_of([&] { Sqlite{directory.file("no/such/place.db")}; }), Catch::Contains("its directory does not exist"));
    CHECK_THAT(error_of([] { Sqlite{"/dev/null"}; }), Catch::Contains("is not a regular file"));

    const std::string other = directory.file("other.db");
    run_sql(other, "CREATE TABLE songs (title TEXT)");
    const std::string songs = read_file(other);
    CHECK_THAT(error_of([&] { Sqlite{other}; }), Catch::Contains("of another program"));
    CHECK_THAT(error_of([&] { Snapshot{other}; }), Catch::Contains("of another program"));
    CHECK(read_file(other) == songs);
}

TEST_CASE("a journal of Optuna is told as one, with how to copy it") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("journal.log");
    // As Optuna 5.0 and 3.1 write the first line.
    for (const std::string line : {R"({"op_code":0,"worker_id":"a-1","study_name":"s","directions":[1]})",
                                   R"({"op_code": 0, "worker_id": "a-1", "study_name": "s", "directions": [1]})"}) {
        write_file(path, line + "\n");
        for (const auto& open : std::vector<std::function<void()>>{[&] { Sqlite{path}; }, [&] { Snapshot{path}; }}) {
            CHECK_THAT(error_of(open), Catch::StartsWith("3: store '" + path + "': is a journal of Optuna, and not an SQLite database") &&
                                           Catch::Contains("optuna.copy_study(from_study_name='NAME', from_storage=JournalStorage("
                                                           "journal.JournalFileBackend('" +
                                                           path + "')), to_storage='sqlite:///copy.db')"));
        }
    }
    write_file(path, "{\"name\": \"another file\"}\n");
    CHECK_THAT(error_of([&] { Snapshot{path}; }), Catch::Contains("is not an SQLite database"));
}

TEST_CASE("addresses that are not SQLite's are refused by name") {
    CHECK_THAT(error_of([] { Sqlite{"postgresql://user@host/db"}; }),
               Catch::StartsWith("2: ") && Catch::Contains("kind 'postgresql'") && Catch::Contains("sqlite:///"));
    CHECK_THAT(error_of([] { Snapshot{"mysql+pymysql://host/db"}; }), Catch::Contains("kind 'mysql+pymysql'"));
    for (const char* address : {"", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://hpo.db"}) {
        CAPTURE(address);
        CHECK_THAT(error_of([&] { Sqlite{address}; }), Catch::Contains("got no file"));
    }
}

TEST_CASE("an empty file becomes a store, and an empty snapshot") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("empty.db");
    write_file(path, "");
    CHECK(Snapshot{path}.studies().empty());  // a run has begun to make it
    make_store(path);
    CHECK(Snapshot{path}.studies().size() == 1);
}

TEST_CASE("a newer schema, Optuna's or ours, is refused and left as it is") {
    const auto [sql, words] = GENERATE(table<const char*, const char*>({
        {"UPDATE alembic_version SET version_num = 'v9.0.0.a'", "Optuna's revision v9.0.0.a, which is newer than v3.2.0.a"},
        {"UPDATE version_info SET schema_version = 13", "Optuna's schema 13, which is newer than 12"},
        {"UPDATE hpo_meta SET value = '2' WHERE key = 'schema_version'", "schema 2 of the hpo tables, which is newer than 1"},
        {"DELETE FROM hpo_meta", "no readable schema version"},
    }));
    const TemporaryDirectory directory;
    const std::string path = directory.file("newer.db");
    make_store(path);
    run_sql(path, sql);
    const std::string before = read_file(path);
    CHECK_THAT(error_of([&] { Sqlite{path}; }), Catch::StartsWith("3: ") && Catch::Contains(words));
    CHECK_THAT(error_of([&] { Snapshot{path}; }), Catch::StartsWith("3: ") && Catch::Contains(words));
    CHECK(read_file(path) == before);
}

TEST_CASE("a file or directory that cannot be written is named as such") {
    const TemporaryDirectory directory;
    std::filesystem::permissions(directory.path(), std::filesystem::perms{0755});
    const std::string path = directory.file("hpo.db");
    make_store(path);
    std::filesystem::permissions(path, std::filesystem::perms{0444});
    CHECK_THAT(as_nobody([&] { Sqlite{path}; }), Catch::StartsWith("3: ") && Catch::Contains("cannot be written: the file is read-only"));
    CHECK(as_nobody([&] { (void)Snapshot{path}.studies(); }) == "no error");
    std::filesystem::permissions(path, std::filesystem::perms{0666});
    CHECK_THAT(as_nobody([&] { Sqlite{path}; }), Catch::StartsWith("3: ") && Catch::Contains("writ"));
    CHECK_THAT(as_nobody([&] { Sqlite{directory.file("new.db")}; }), Catch::StartsWith("3: ") && Catch::Contains("cannot be opened"));
    std::filesystem::permissions(path, std::filesystem::perms{0000});
    CHECK_THAT(as_nobody([&] { Snapshot{path}; }), Catch::StartsWith("3: ") && Catch::Contains("cannot be opened"));
    std::filesystem::permissions(path, std::filesystem::perms{0644});
    CHECK(Snapshot{path}.studies().size() == 1);
}

TEST_CASE("a store that another process holds is an error after the time-out, and names the process") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_store(path);
    ChildProcess holder{[&](const auto& write) {
        SQLite::Database database{path, SQLite::OPEN_READWRITE};
        database.exec("BEGIN IMMEDIATE");
        write("held");
        pause();
    }};
    REQUIRE(holder.line() == "held");
    Sqlite store{path, {.busy_timeout = std::chrono::milliseconds{200}}};
    CHECK(store.studies().size() == 1);  // reading goes on meanwhile
    const auto begin = std::chrono::steady_clock::now();
    const std::string error = error_of([&] { (void)store.begin_trial(1, std::nullopt); });
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{9});  // well below the standard wait
    CHECK_THAT(error, Catch::StartsWith("3: store '" + path + "': locked for more than 200 ms by process " + std::to_string(holder.pid())));
    ::kill(holder.pid(), SIGKILL);
    (void)holder.lines();
    CHECK(store.begin_trial(1, std::nullopt).number == 1);  // the same object goes on
}

TEST_CASE("a file that another program is writing in its own way is waited for") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("optuna.db");
    std::filesystem::copy_file(std::string{HPO_SOURCE_DIR} + "/tests/data/optuna/optuna-3.1.0.db", path);
    ChildProcess holder{[&](const auto& write) {
        SQLite::Database database{path, SQLite::OPEN_READWRITE};
        database.exec("BEGIN IMMEDIATE");
        sigset_t release;
        sigemptyset(&release);
        sigaddset(&release, SIGUSR1);
        sigprocmask(SIG_BLOCK, &release, nullptr);
        write("held");
        int received = 0;
        sigwait(&release, &received);
        usleep(100'000);
        database.exec("COMMIT");
    }};
    REQUIRE(holder.line() == "held");
    CHECK_THAT(error_of([&] { Sqlite(path, {.busy_timeout = std::chrono::milliseconds{50}}); }),
               Catch::Contains("locked for more than 50 ms"));
    ::kill(holder.pid(), SIGUSR1);  // let go soon
    CHECK(Sqlite{path}.studies().size() == 1);
}

TEST_CASE("a damaged page is told, and the file is not touched further") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_store(path, 200);
    std::string bytes = read_file(path);
    for (std::size_t page = 4096 * 3; page < bytes.size(); page += 4096) bytes.replace(page, 64, std::string(64, '\xEE'));
    write_file(path, bytes);
    CHECK_THAT(error_of([&] {
                   Snapshot snapshot{path};
                   for (const auto& study : snapshot.studies()) (void)snapshot.trials(study);
               }),
               Catch::StartsWith("3: ") && Catch::Contains("is damaged") && Catch::Contains(".recover"));
    CHECK(read_file(path) == bytes);
}

TEST_CASE("a disk that is full stops the writer, and what was acknowledged stays") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_store(path);
    ChildProcess writer{[&](const auto& write) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{400'000, 400'000};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error{"no limit"};
        Sqlite store{path};
        try {
            for (;;) {
                hpo::Trial trial = store.begin_trial(1, std::nullopt);
                trial.state = hpo::TrialState::complete;
                trial.values = {0.5};
                trial.user_attributes["text"] = "\"" + std::string(2000, 'x') + "\"";
                store.finish(trial);
                write(std::to_string(trial.number));
            }
        } catch (const hpo::Error& error) {
            write(std::to_string(hpo::exit_code(error.code())) + ": " + error.what());
        }
    }};
    auto lines = writer.lines();
    REQUIRE(lines.size() > 10);
    CHECK_THAT(lines.back(), Catch::StartsWith("3: ") && Catch::Contains("disk") && Catch::Contains("full"));
    lines.pop_back();
    Sqlite store{path};
    std::vector<hpo::Trial> trials;
    store.refresh(1, trials);
    for (const std::string& line : lines) CHECK(trials.at(std::stoul(line)).state == hpo::TrialState::complete);
    CHECK(SQLite::Database{path, SQLite::OPEN_READWRITE}.execAndGet("PRAGMA integrity_check").getString() == "ok");
}

TEST_CASE("a study that does not exist is answered with those that do") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_store(path);
    Sqlite store{path};
    store.open_study("fashion_mnist", minimize, hpo::Store::Open::create);
    const std::string expected =
        "2: store '" + path + "': unknown study 'fashion_mist'; did you mean 'fashion_mnist'?; known: s, fashion_mnist";
    CHECK(error_of([&] { store.open_study("fashion_mist", minimize, hpo::Store::Open::resume); }) == expected);
    CHECK(error_of([&] { (void)Snapshot{path}.study("fashion_mist"); }) == expected);
}

TEST_CASE("text that is not JSON or not UTF-8 cannot spoil a study for other readers") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    Sqlite store{path};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    trial.state = hpo::TrialState::fail;
    CHECK_FALSE(store.can_keep("{not json"));
    for (const char* kept : {"0.5", "NaN", "-Infinity", "[1, NaN]", "\"text\"", "\"\xff\"", "null"}) CHECK(store.can_keep(kept));
    trial.user_attributes["bad"] = "{not json";
    CHECK_THAT(error_of([&] { store.finish(trial); }), Catch::Contains("attribute 'bad'") && Catch::Contains("expected JSON text"));
    trial.user_attributes = {{"broken", "\"a\xFFz \xE2\x82\""}, {"python", "[NaN, -Infinity, \"NaN\"]"}};
    store.finish(trial);
    std::vector<hpo::Trial> trials;
    Sqlite{path}.refresh(study.id, trials);
    CHECK(trials.at(0).user_attributes.at("broken") == "\"a\xEF\xBF\xBDz \xEF\xBF\xBD\xEF\xBF\xBD\"");
    CHECK(trials.at(0).user_attributes.at("python") == "[NaN, -Infinity, \"NaN\"]");
}

TEST_CASE("a damaged row is an error that names study, trial and column, never a 0") {
    struct Case {
        const char* damage;
        const char* words;
    };
    const std::vector<Case> cases{
        {"UPDATE trial_values SET value = 'lots'", "trial_values.value holds 'lots'; expected a number"},
        {"UPDATE trial_values SET value = x'00ff'", "trial_values.value holds a blob of 2 bytes; expected a number"},
        {"UPDATE trial_params SET param_value = 'lots'", "trial_params.param_value holds 'lots'; expected a number"},
        {"UPDATE trial_params SET param_value = 7 WHERE param_name = 'c'",
         "trial_params.param_value of 'c' holds 7; expected the index of one of 2 choices"},
        {"UPDATE trial_params SET param_value = NULL WHERE param_name = 'n'",
         "trial_params.param_value of 'n' holds NULL; expected a whole number"},
        {"UPDATE trial_intermediate_values SET intermediate_value = 'lots'",
         "trial_intermediate_values.intermediate_value holds 'lots'; expected a number"},
        {"UPDATE hpo_attempts SET peak_allocated_bytes = 'lots'",
         "hpo_attempts.peak_allocated_bytes holds 'lots'; expected a whole number"},
        {"UPDATE hpo_attempts SET peak_allocated_bytes = 2.5", "hpo_attempts.peak_allocated_bytes holds 2.5; expected a whole number"},
        {"UPDATE hpo_memory SET seconds = 'soon'", "hpo_memory.seconds holds 'soon'; expected a number"},
        {"UPDATE hpo_failures SET kind = 'weird'", "hpo_failures.kind holds 'weird'; expected one of out_of_memory, "},
    };
    for (const Case& each : cases) {
        CAPTURE(each.damage);
        const TemporaryDirectory directory;
        const std::string path = directory.file("hpo.db");
        {
            Sqlite store{path};
            const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            trial.params.set("c", hpo::CategoricalDistribution{{std::string{"a"}, std::string{"b"}}}, 1);
            trial.params.set("n", hpo::IntDistribution{1, 9}, 3);
            store.set_params(trial);
            hpo::Attempt attempt;
            attempt.memory = {{"step", 1.0, 1, {}}};
            store.begin_attempt(trial, attempt);
            store.report(trial, {1, 0.25});
            attempt.failure = hpo::Failure{.kind = hpo::FailureKind::crash, .message = "it crashed"};
            attempt.outcome = hpo::OutcomeKind::failed;
            store.end_attempt(trial, attempt);
            trial.state = hpo::TrialState::complete;
            trial.values = {0.5};
            store.finish(trial);
        }
        run_sql(path, each.damage);
        const std::string expected = "3: store '" + path + "': study 's', trial 0: " + each.words;
        CHECK_THAT(error_of([&] {
                       Snapshot snapshot{path};
                       (void)snapshot.trials(snapshot.study("s"));
                   }),
                   Catch::StartsWith(expected));
        CHECK_THAT(error_of([&] {
                       Sqlite store{path};
                       std::vector<hpo::Trial> trials;
                       store.refresh(store.open_study("s", minimize, hpo::Store::Open::resume).id, trials);
                   }),
                   Catch::StartsWith(expected));
    }
}

TEST_CASE("an unknown direction is an error of its study alone, and so is a study without one") {
    const auto [damage, words] = GENERATE(table<const char*, const char*>({
        {"UPDATE study_directions SET direction = 'SIDEWAYS' WHERE study_id = 1", "holds 'SIDEWAYS'; expected MINIMIZE or MAXIMIZE"},
        {"DELETE FROM study_directions WHERE study_id = 1", "holds nothing, since the study has no row; expected MINIMIZE or MAXIMIZE"},
    }));
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_store(path);
    (void)Sqlite{path}.open_study("other", minimize, hpo::Store::Open::create);
    run_sql(path, damage);
    const std::string expected = "3: store '" + path + "': study 's': study_directions.direction " + words;
    CHECK(error_of([&] { (void)Snapshot{path}.study("s"); }) == expected);
    CHECK(error_of([&] { (void)Snapshot{path}.studies(); }) == expected);
    CHECK(error_of([&] { (void)Sqlite{path}.open_study("s", minimize, hpo::Store::Open::resume); }) == expected);
    CHECK(error_of([&] { (void)Sqlite{path}.studies(); }) == expected);
    CHECK(Snapshot{path}.study("other").directions == minimize);
    CHECK(Sqlite{path}.open_study("other", minimize, hpo::Store::Open::resume).directions == minimize);
    run_sql(path, "UPDATE study_directions SET direction = 'NOT_SET'");  // as Optuna leaves a study before its direction is set
    CHECK(Snapshot{path}.study("other").directions == minimize);
}

TEST_CASE("a store that a program left while it wrote names its journal and what to do") {
    const TemporaryDirectory place;
    const std::string path = (place.path() / "left.db").string();
    const pid_t child = ::fork();
    if (child == 0) {  // dies with pages written that are not committed
        sqlite3* database = nullptr;
        sqlite3_open(path.c_str(), &database);
        sqlite3_exec(database, "CREATE TABLE t(a); INSERT INTO t VALUES(1)", nullptr, nullptr, nullptr);
        sqlite3_exec(database, "PRAGMA cache_size = 2; BEGIN", nullptr, nullptr, nullptr);
        for (int i = 0; i < 5000; ++i) sqlite3_exec(database, "INSERT INTO t VALUES(zeroblob(500))", nullptr, nullptr, nullptr);
        ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    REQUIRE(std::filesystem::exists(path + "-journal"));
    CHECK_THROWS_WITH(Snapshot{path}.studies(),
                      Catch::Contains("left.db-journal holds what must be taken back first") && Catch::Contains("PRAGMA quick_check"));
}
