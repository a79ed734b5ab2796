// SPDX-License-Identifier: MIT
#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/store/sqlite/optuna_shape.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "hpo/testing/trial_text.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using hpo::store::Snapshot;
using hpo::store::Sqlite;
using hpo::test::read_file;
using hpo::testing::sample_attempt;
using hpo::testing::sample_rejection;
using hpo::testing::text_of;
using hpo::tests::ChildProcess;
using hpo::tests::minimize;
using hpo::tests::TemporaryDirectory;

namespace {

/// What is lost if another program makes a table anew: an index, and a trigger that now does less than ours.
constexpr const char* lose_index_and_trigger = R"sql(
    DROP INDEX ix_hpo_memory_trial_id;
    DROP TRIGGER hpo_trial_deleted;
    CREATE TRIGGER hpo_trial_deleted AFTER DELETE ON trials BEGIN
        DELETE FROM hpo_trials WHERE trial_id = OLD.trial_id;
        DELETE FROM hpo_attempts WHERE trial_id = OLD.trial_id;
        DELETE FROM hpo_failures WHERE trial_id = OLD.trial_id;
    END;
)sql";

SQLite::Database database_of(const std::string& path) { return {path, SQLite::OPEN_READWRITE}; }

/// A file with one running trial, its attempt and a rejection, all with every member.
void make_full_store(const std::string& path) {
    Sqlite store{path};
    const hpo::Study study = store.open_study("s", minimize, hpo::Store::Open::create);
    const hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    store.begin_attempt(trial, sample_attempt(0));
    store.keep_log(trial, 0, "epoch 1");
    store.reject(study.id, sample_rejection());
}

bool is_complete(const std::string& path) {
    hpo::store::Connection connection{path, {}};
    return connection.read([&] { return hpo::store::read_shape(connection).is_hpo_complete; });
}
std::int64_t count(const std::string& path, const std::string& from) {
    return database_of(path).execAndGet("SELECT count(*) FROM " + from).getInt64();
}

}  // namespace

TEST_CASE("a file without one of our tables or columns is refused by its name, and keeps each byte") {
    const auto [lost, said] = GENERATE(table<std::string, std::string>({
        {"ALTER TABLE hpo_attempts DROP COLUMN decision", "has no column hpo_attempts.decision"},
        {"ALTER TABLE hpo_rejections DROP COLUMN micro_batch", "has no column hpo_rejections.micro_batch"},
        {"DROP TABLE hpo_attempt_reports", "has no table hpo_attempt_reports"},
    }));
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(lost);
    const std::string before = read_file(path);
    CHECK_THROWS_WITH(Sqlite{path}, Catch::Contains(said));
    CHECK_THROWS_WITH(Snapshot{path}.studies(), Catch::Contains(said));
    CHECK(read_file(path) == before);
}

TEST_CASE("the page on the layout names each column") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    const std::string page = read_file(std::string{HPO_SOURCE_DIR} + "/docs/development/store-layout.md");
    SQLite::Database database = database_of(path);
    SQLite::Statement column{database,
                             "SELECT c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.name LIKE 'hpo\\_%' "
                             "ESCAPE '\\' AND m.type = 'table'"};
    int columns = 0;
    for (; column.executeStep(); ++columns) {
        const std::string name = column.getColumn(0).getString();
        CAPTURE(name);
        CHECK(page.find("`" + name + "`") != std::string::npos);
    }
    CHECK(columns > 80);
}

TEST_CASE("a column of a later version is not known in an older file, which gets it when it is opened for writing") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec("ALTER TABLE hpo_attempts DROP COLUMN answered_by");
    const std::string before = read_file(path);
    hpo::Attempt known = sample_attempt(0);
    known.answered_by.clear();
    const auto check_attempts = [&](const std::vector<hpo::Trial>& trials) {
        REQUIRE(trials.size() == 1);
        CHECK(text_of(trials[0].attempts) == text_of(std::vector{known}));
    };
    {
        Snapshot snapshot{path};
        check_attempts(snapshot.trials(snapshot.study("s")));
    }
    CHECK(read_file(path) == before);
    CHECK_FALSE(is_complete(path));
    {
        Sqlite store{path};
        const hpo::Study study = store.open_study("s", minimize, hpo::Store::Open::resume);
        std::vector<hpo::Trial> trials;
        store.refresh(study.id, trials);
        check_attempts(trials);
        hpo::Attempt next = sample_attempt(1);
        store.begin_attempt(trials[0], next);
        known = next;
    }
    CHECK(is_complete(path));
    Snapshot snapshot{path};
    CHECK(text_of(snapshot.trials(snapshot.study("s")).at(0).attempts.at(1)) == text_of(known));
}

TEST_CASE("an index and a trigger that were lost come back when a file is opened for writing") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    CHECK(is_complete(path));
    database_of(path).exec(lose_index_and_trigger);
    const std::string before = read_file(path);
    {
        Snapshot snapshot{path};
        CHECK(text_of(snapshot.trials(snapshot.study("s")).at(0).attempts.at(0)) == text_of(sample_attempt(0)));
    }
    CHECK(read_file(path) == before);
    CHECK_FALSE(is_complete(path));
    Sqlite store{path};
    CHECK(is_complete(path));
    store.delete_study(store.open_study("s", minimize, hpo::Store::Open::resume).id);
    for (const char* table : {"hpo_attempts", "hpo_failures", "hpo_memory", "hpo_attempt_reports", "hpo_logs", "hpo_rejections"}) {
        CAPTURE(table);
        CHECK(count(path, table) == 0);
    }
}

TEST_CASE("rows that a lost trigger left behind do not come back as another trial's") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(lose_index_and_trigger);
    database_of(path).exec("DELETE FROM trials");
    REQUIRE(count(path, "hpo_memory") > 0);
    Sqlite store{path};
    CHECK(count(path, "hpo_memory") == 0);
    CHECK(count(path, "hpo_rejections") == 1);
}

TEST_CASE("processes that open a file without its triggers at once all find it whole") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(lose_index_and_trigger);
    const auto work = [&](const auto& write) {
        Sqlite store{path};
        const hpo::Study study = store.open_study("s", minimize, hpo::Store::Open::resume);
        store.begin_attempt(store.begin_trial(study.id, std::nullopt), sample_attempt(0));
        write("stored");
    };
    std::vector<ChildProcess> children;
    for (int i = 0; i < 4; ++i) children.emplace_back(work);
    for (ChildProcess& child : children) CHECK(child.lines() == std::vector<std::string>{"stored"});
    CHECK(is_complete(path));
    CHECK(count(path, "hpo_attempts") == 5);
}

TEST_CASE("what a later version added to a file is left alone") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    const std::string trigger = database_of(path).execAndGet("SELECT sql FROM sqlite_master WHERE name = 'hpo_trial_deleted'").getString();
    const std::string later = trigger.substr(0, trigger.rfind("END")) + "    DELETE FROM hpo_later WHERE trial_id = OLD.trial_id;\nEND";
    database_of(path).exec(R"sql(
        ALTER TABLE hpo_attempts ADD COLUMN later_lever TEXT;
        ALTER TABLE hpo_rejections ADD COLUMN later_lever TEXT;
        CREATE TABLE hpo_later (trial_id INTEGER NOT NULL);
        UPDATE hpo_attempts SET later_lever = 'kept';
        DROP TRIGGER hpo_trial_deleted;)sql" +
                           later);
    {
        Snapshot snapshot{path};
        CHECK(text_of(snapshot.trials(snapshot.study("s")).at(0).attempts.at(0)) == text_of(sample_attempt(0)));
    }
    Sqlite store{path};
    const hpo::Study study = store.open_study("s", minimize, hpo::Store::Open::resume);
    store.reject(study.id, sample_rejection());
    CHECK(store.rejections(study.id).size() == 2);
    const hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    store.begin_attempt(trial, sample_attempt(0));
    CHECK(count(path, "hpo_attempts WHERE later_lever = 'kept'") == 1);
    CHECK(database_of(path).execAndGet("SELECT sql FROM sqlite_master WHERE name = 'hpo_trial_deleted'").getString() == later);
}

TEST_CASE("a member of a plan that has no value in the file, or an unknown precision, is as in a new plan") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec("UPDATE hpo_attempts SET precision = 'fp8', micro_batch = NULL");
    hpo::ExecutionPlan plan = sample_attempt(0).plan;
    plan.precision = hpo::ExecutionPlan{}.precision;
    plan.micro_batch.reset();
    Snapshot snapshot{path};
    CHECK(snapshot.trials(snapshot.study("s")).at(0).attempts.at(0).plan == plan);
}
