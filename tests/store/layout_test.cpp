// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/hpo_layout.hpp"
#include "store/sqlite/plan_json.hpp"

#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
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

/// What an earlier version would have made: fewer columns, one table less, a trigger that does not know it, an index less.
constexpr const char* to_earlier_layout = R"sql(
    DROP TRIGGER hpo_trial_deleted;
    DROP TABLE hpo_attempt_reports;
    DROP INDEX ix_hpo_memory_trial_id;
    ALTER TABLE hpo_attempts DROP COLUMN plan_json;
    ALTER TABLE hpo_attempts DROP COLUMN capacity_bytes;
    ALTER TABLE hpo_attempts DROP COLUMN fresh_worker;
    ALTER TABLE hpo_attempts DROP COLUMN resumed_step;
    ALTER TABLE hpo_attempts DROP COLUMN checkpoint_step;
    ALTER TABLE hpo_rejections DROP COLUMN plan_json;
    ALTER TABLE hpo_rejections DROP COLUMN capacity_bytes;
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
hpo::Attempt earlier_attempt() {
    hpo::Attempt attempt = sample_attempt(0);
    attempt.capacity_bytes.reset();
    attempt.fresh_worker = false;
    attempt.resumed_step.reset();
    attempt.checkpoint_step.reset();
    attempt.reports.clear();
    return attempt;
}
hpo::Rejection earlier_rejection() {
    hpo::Rejection rejection = sample_rejection();
    rejection.plan = {};
    rejection.capacity_bytes.reset();
    return rejection;
}

bool is_complete(const std::string& path) {
    hpo::store::Connection connection{path, {}};
    return connection.read([&] { return hpo::store::is_complete(hpo::store::read_layout(connection)); });
}
std::int64_t count(const std::string& path, const std::string& from) {
    return database_of(path).execAndGet("SELECT count(*) FROM " + from).getInt64();
}

}  // namespace

TEST_CASE("a file of an earlier layout is read as it is, and what it lacks is not known") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(to_earlier_layout);
    {
        Snapshot snapshot{path};
        const hpo::Study study = snapshot.study("s");
        CHECK(text_of(snapshot.trials(study).at(0).attempts.at(0)) == text_of(earlier_attempt()));
        CHECK(text_of(snapshot.rejections(study).at(0)) == text_of(earlier_rejection()));
        CHECK(snapshot.runs(study).empty());
    }
    database_of(path).exec("DROP TABLE hpo_rejections");
    {
        Snapshot snapshot{path};
        CHECK(snapshot.rejections(snapshot.study("s")).empty());
    }
    make_full_store(directory.file("other.db"));
    CHECK_FALSE(is_complete(path));
    CHECK(is_complete(directory.file("other.db")));
}

TEST_CASE("looking at a file of an earlier layout changes no byte") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(to_earlier_layout);
    const std::string before = read_file(path);
    {
        Snapshot snapshot{path};
        CHECK(snapshot.trials(snapshot.study("s")).size() == 1);
    }
    CHECK(read_file(path) == before);
}

TEST_CASE("a file of an earlier layout gains what came since when it is opened, and keeps what it has") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(to_earlier_layout);
    {
        Sqlite store{path};
        CHECK(is_complete(path));
        const hpo::Study study = store.open_study("s", minimize, hpo::Store::Open::resume);
        std::vector<hpo::Trial> trials;
        store.refresh(study.id, trials);
        CHECK(text_of(trials.at(0).attempts.at(0)) == text_of(earlier_attempt()));
        CHECK(text_of(store.rejections(study.id).at(0)) == text_of(earlier_rejection()));
        store.begin_attempt(trials[0], sample_attempt(1));
        store.reject(study.id, sample_rejection());
        std::vector<hpo::Trial> anew;
        store.refresh(study.id, anew);
        CHECK(text_of(anew.at(0).attempts.at(1)) == text_of(sample_attempt(1)));
        CHECK(text_of(store.rejections(study.id).at(1)) == text_of(sample_rejection()));
        CHECK(count(path, "hpo_attempt_reports") > 0);
        CHECK(count(path, "hpo_meta WHERE key = 'schema_version' AND value = '1'") == 1);
        store.delete_study(study.id);
    }
    for (const char* table : {"hpo_attempts", "hpo_failures", "hpo_memory", "hpo_attempt_reports", "hpo_logs", "hpo_rejections"}) {
        CAPTURE(table);
        CHECK(count(path, table) == 0);
    }
}

TEST_CASE("rows that a trigger of an earlier layout left behind do not come back as another trial's") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(to_earlier_layout);
    database_of(path).exec("DELETE FROM trials");
    REQUIRE(count(path, "hpo_memory") > 0);
    Sqlite store{path};
    CHECK(count(path, "hpo_memory") == 0);
    CHECK(count(path, "hpo_rejections") == 1);
}

TEST_CASE("processes that open a file of an earlier layout at once all find it whole") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec(to_earlier_layout);
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
    CHECK(count(path, "hpo_attempts WHERE capacity_bytes IS NOT NULL") == 4);
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
        UPDATE hpo_attempts SET later_lever = 'kept', plan_json = json_set(plan_json, '$.later', 'kept'), micro_batch = NULL;
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
    CHECK(count(path, "hpo_attempts WHERE later_lever = 'kept' AND json_extract(plan_json, '$.later') = 'kept'") == 1);
    CHECK(database_of(path).execAndGet("SELECT sql FROM sqlite_master WHERE name = 'hpo_trial_deleted'").getString() == later);
}

TEST_CASE("a file without a column that every version writes is refused for writing, and gains nothing") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    make_full_store(path);
    database_of(path).exec("ALTER TABLE hpo_attempts DROP COLUMN decision; DROP TABLE hpo_attempt_reports");
    const std::string before = read_file(path);
    CHECK_THROWS_WITH(Sqlite{path}, Catch::Contains("has no column hpo_attempts.decision"));
    CHECK(read_file(path) == before);
    Snapshot snapshot{path};
    CHECK(snapshot.trials(snapshot.study("s")).at(0).attempts.at(0).decision.empty());
}

TEST_CASE("a plan is stored whole, and read from what is known of it") {
    const hpo::ExecutionPlan plan = sample_attempt(0).plan;
    const std::string text = hpo::store::plan_text(plan);
    CHECK(hpo::store::parse_plan(text, {}) == plan);
    CHECK(text.find("\"micro_batch\":48") != std::string::npos);
    CHECK(hpo::store::plan_text({}) == "{}");
    CHECK(hpo::store::parse_plan("{}", {}) == hpo::ExecutionPlan{});
    hpo::ExecutionPlan capped = plan;
    capped.cap_bytes = 5;
    CHECK(hpo::store::parse_plan(R"({"cap_bytes": 5, "micro_batch": "many", "precision": "fp8", "later": [1]})", plan) == capped);
    CHECK(hpo::store::parse_plan("no JSON", plan) == plan);
    CHECK(hpo::store::parse_plan("[]", plan) == plan);
}
