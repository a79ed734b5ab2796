// SPDX-License-Identifier: MIT
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/testing/trial_text.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

using hpo::store::Sqlite;
using hpo::tests::ChildProcess;
using hpo::tests::minimize;
using hpo::tests::TemporaryDirectory;

namespace {

hpo::Study open(Sqlite& store) { return store.open_study("s", minimize, hpo::Store::Open::create_or_resume); }

void complete(Sqlite& store, hpo::Trial& trial) {
    trial.params.set("x", hpo::FloatDistribution{-5, 5, false, std::nullopt}, 0.25);
    trial.params.set("n", hpo::IntDistribution{0, 1 << 30, false, 1}, static_cast<double>(trial.number));
    store.set_params(trial);
    trial.state = hpo::TrialState::complete;
    trial.values = {static_cast<double>(trial.number)};
    trial.user_attributes["pid"] = std::to_string(getpid());
    store.finish(trial);
}

std::string integrity(const std::string& path) {
    SQLite::Database database{path, SQLite::OPEN_READWRITE};
    return database.execAndGet("PRAGMA integrity_check").getString();
}

template <class Work>
std::multiset<std::int64_t> numbers_of_eight(Work work) {
    std::vector<ChildProcess> children;
    for (int i = 0; i < 8; ++i) children.emplace_back(work);
    std::multiset<std::int64_t> numbers;
    for (ChildProcess& child : children) {
        for (const std::string& line : child.lines()) {
            INFO(line);
            REQUIRE(line.find("error") == std::string::npos);
            numbers.insert(std::stoll(line));
        }
        CHECK(child.status() == 0);
    }
    return numbers;
}

void check_each_once(const std::multiset<std::int64_t>& numbers, std::int64_t count) {
    REQUIRE(numbers.size() == static_cast<std::size_t>(count));
    std::int64_t expected = 0;
    for (const std::int64_t number : numbers) REQUIRE(number == expected++);
}

}  // namespace

TEST_CASE("eight processes take 200 waiting trials, none twice") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    {
        Sqlite store{path};
        const auto study = open(store);
        for (int i = 0; i < 200; ++i) store.enqueue(study.id, {{"n", std::int64_t{i}}});
    }
    const auto numbers = numbers_of_eight([&](const auto& write) {
        Sqlite store{path};
        const auto study = open(store);
        for (int i = 0; i < 25; ++i) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            if (trial.fixed.at(0).second != hpo::Value{trial.number}) throw std::runtime_error{"wrong values"};
            write(std::to_string(trial.number));
            complete(store, trial);
        }
    });
    check_each_once(numbers, 200);
    CHECK(integrity(path) == "ok");
}

TEST_CASE("eight processes make the file and its trials at once, each number once") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    const auto numbers = numbers_of_eight([&](const auto& write) {
        Sqlite store{path};
        const auto study = open(store);
        std::vector<hpo::Trial> trials;
        for (int i = 0; i < 40; ++i) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            complete(store, trial);
            write(std::to_string(trial.number));
            trials.push_back(std::move(trial));
            store.refresh(study.id, trials);
            for (std::size_t k = 0; k < trials.size(); ++k) {
                if (trials[k].number != static_cast<std::int64_t>(k)) throw std::runtime_error{"the list has gaps or is out of order"};
            }
        }
    });
    check_each_once(numbers, 320);
    CHECK(integrity(path) == "ok");
    Sqlite store{path};
    std::vector<hpo::Trial> trials;
    store.refresh(open(store).id, trials);
    REQUIRE(trials.size() == 320);
    for (const hpo::Trial& trial : trials) CHECK(trial.values == std::vector{static_cast<double>(trial.number)});
}

TEST_CASE("what another process writes is seen, and a list that was kept equals one that is read anew") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    Sqlite store{path};
    Sqlite other{path};
    const auto study = open(store);
    std::vector<hpo::Trial> trials;
    trials.push_back(store.begin_trial(study.id, std::nullopt));
    hpo::Trial foreign = other.begin_trial(study.id, std::nullopt);
    other.enqueue(study.id, {{"x", 1.0}});
    trials.push_back(store.begin_trial(study.id, std::nullopt));  // takes the enqueued one, number 2, before 1 was seen
    CHECK(trials.back().number == 2);
    CHECK(store.refresh(study.id, trials));
    REQUIRE(trials.size() == 3);
    CHECK(trials[1].state == hpo::TrialState::running);
    other.report(foreign, {0, 0.5});
    CHECK(store.refresh(study.id, trials));
    CHECK(trials[1].intermediate.at(0) == 0.5);
    complete(other, foreign);
    for (hpo::Trial* own : {&trials[0], &trials[2]}) {
        complete(store, *own);
        own->completed.reset();
    }
    CHECK(store.refresh(study.id, trials));
    CHECK_FALSE(store.refresh(study.id, trials));
    CHECK(trials[1].values == std::vector{1.0});
    std::vector<hpo::Trial> anew;
    Sqlite{path}.refresh(study.id, anew);
    for (std::size_t i = 0; i < 3; ++i) {
        if (!trials[i].completed) anew[i].completed.reset();
        CHECK(hpo::testing::text_of(trials[i]) == hpo::testing::text_of(anew[i]));
    }
    other.delete_study(study.id);
    CHECK_THROWS_WITH(store.refresh(study.id, trials), Catch::Contains("deleted"));
    const auto again = other.open_study("another", minimize, hpo::Store::Open::create);
    REQUIRE(again.id == study.id);  // the id is used again, for another study
    CHECK_THROWS_WITH(store.begin_trial(study.id, std::nullopt), Catch::Contains("deleted"));
}

TEST_CASE("a trial whose id was used again for another is not written to") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    Sqlite store{path};
    const auto study = open(store);
    const auto run = store.begin_run(study.id, {});
    const hpo::Trial trial = store.begin_trial(study.id, run.id);
    Sqlite other{path};
    other.delete_study(study.id);
    const hpo::Trial later = other.begin_trial(open(other).id, std::nullopt);
    REQUIRE(later.id == trial.id);
    CHECK_THROWS_WITH(store.report(trial, {0, 1.0}), Catch::Contains("not there any more"));
}

TEST_CASE("a writer killed at any moment leaves a sound file with everything that it had acknowledged") {
    const TemporaryDirectory directory;
    const std::string path = directory.file("hpo.db");
    std::mt19937 random{20261121};
    std::set<std::int64_t> acknowledged;
    for (int round = 0; round < 20; ++round) {
        ChildProcess writer{[&](const auto& write) {
            Sqlite store{path};
            const auto study = open(store);
            const auto run = store.begin_run(study.id, {});
            for (;;) {
                hpo::Trial trial = store.begin_trial(study.id, run.id);
                hpo::Attempt attempt;
                store.begin_attempt(trial, attempt);
                store.report(trial, {0, 0.5});
                attempt.outcome = hpo::OutcomeKind::complete;
                store.end_attempt(trial, attempt);
                complete(store, trial);
                write(std::to_string(trial.number));
            }
        }};
        std::vector<std::string> lines;
        if (round % 2 == 1) lines.push_back(writer.line());  // every second one gets as far as a stored trial, however slow it is
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 60'000});
        ::kill(writer.pid(), SIGKILL);
        for (std::string& line : writer.lines()) lines.push_back(std::move(line));
        for (const std::string& line : lines) {
            INFO(line);
            REQUIRE(line.find("error") == std::string::npos);
            CHECK(acknowledged.insert(std::stoll(line)).second);
        }
        if (!std::filesystem::exists(path)) continue;
        CHECK(integrity(path) == "ok");
        Sqlite store{path};
        const auto study = open(store);
        CHECK(store.settle_lost_trials(study.id, 60) <= 1);
        std::vector<hpo::Trial> trials;
        store.refresh(study.id, trials);
        std::size_t done = 0;
        for (std::size_t i = 0; i < trials.size(); ++i) {
            const hpo::Trial& trial = trials[i];
            REQUIRE(trial.number == static_cast<std::int64_t>(i));
            CHECK(hpo::is_finished(trial.state));
            if (!hpo::counts_as_done(trial)) continue;
            ++done;
            CHECK(trial.values == std::vector{static_cast<double>(i)});
            CHECK(trial.params.size() == 2);
            CHECK(trial.attempts.at(0).outcome == hpo::OutcomeKind::complete);
        }
        for (const std::int64_t number : acknowledged) CHECK(hpo::counts_as_done(trials.at(static_cast<std::size_t>(number))));
        CHECK(done >= acknowledged.size());
        CHECK(done <= acknowledged.size() + static_cast<std::size_t>(round) + 1);  // stored, but killed before it could say so
    }
    CHECK(acknowledged.size() >= 10);
}
