// SPDX-License-Identifier: MIT
#include "tune/models/best_model.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;
using namespace hpo::tune;
using Catch::Contains;
using hpo::test::read_file;
using hpo::test::write_file;

namespace {

/// Trial `number` of a study that maximises, complete with this value.
Trial complete(std::int64_t number, double value) {
    Trial trial;
    trial.number = number;
    trial.state = TrialState::complete;
    trial.values = {value};
    trial.params.set("x", FloatDistribution{0, 100}, value);
    trial.attempts.emplace_back();
    trial.user_attributes["data_hash"] = "\"d\"";
    return trial;
}

/// The store's trials.
auto stored(std::vector<Trial> trials = {}) {
    return [trials = std::move(trials)] { return trials; };
}

BestModel::Settings settings_in(const std::filesystem::path& folder) {
    ModelManifest about;
    about.trainer = "t";
    about.study = "s";
    about.metric = "m";
    about.direction = Direction::maximize;
    return {.folder = folder, .about = about, .metrics = {{"m", Direction::maximize, ""}}};
}

/// What a trainer does in an attempt: two files, one of them in a folder.
void train(const BestModel& best, std::int64_t trial) {
    const std::filesystem::path model = best.make(trial);
    CHECK(std::filesystem::is_empty(model));
    write_file(model / "weights", "weights of trial " + std::to_string(trial));
    std::filesystem::create_directory(model / "words");
    write_file(model / "words" / "list", std::string(10'000, static_cast<char>('a' + trial)));
}

/// The trial whose model lies there, whole; -1: none.
std::int64_t whole_model(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return -1;
    const ModelManifest manifest = read_manifest(folder);
    require_whole(folder, manifest);
    CHECK(manifest.files.size() == 2);
    CHECK(read_file(folder / "weights") == "weights of trial " + std::to_string(manifest.trial));
    return manifest.trial;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) names.insert(entry.path().filename().string());
    return names;
}

}  // namespace

TEST_CASE("of the models that trials leave the best one's is kept, and nothing else") {
    const hpo::tests::TemporaryDirectory home;
    const auto folder = home.path("best");
    {
        const BestModel best{settings_in(folder), stored()};
        CHECK_FALSE(best.kept());
        for (const auto& [value, kept] : {std::pair{1.0, 0}, {3.0, 1}, {2.0, 1}, {3.0, 1}, {4.0, 4}}) {
            static std::int64_t number = 0;
            train(best, number);
            best.finished(complete(number++, value));
            CHECK(whole_model(folder) == kept);
        }
        Trial pruned = complete(5, 9);
        pruned.state = TrialState::pruned;
        Trial infeasible = complete(6, 9);
        infeasible.constraints["memory"] = 0.5;
        Trial failed = complete(7, 9);
        failed.state = TrialState::fail;
        for (const Trial& trial : {pruned, infeasible, failed}) {
            train(best, trial.number);
            best.finished(trial);
        }
        CHECK(whole_model(folder) == 4);
        CHECK(names_in(home.path(".best.pending")).empty());
        best.finished(complete(8, 10));  // nothing was saved of it
        CHECK(whole_model(folder) == 4);
        const auto kept = best.kept();
        REQUIRE(kept);
        CHECK(kept->value == 4);
        CHECK(kept->metrics.at("m") == 4);
        CHECK(kept->data_hash == "d");
        CHECK(kept->params == Values{{"x", 4.0}});
    }
    CHECK(names_in(home.path()) == std::set<std::string>{"best"});
}

TEST_CASE("a retried attempt finds an empty folder for its model, whatever the one before left") {
    const hpo::tests::TemporaryDirectory home;
    const BestModel best{settings_in(home.path("best")), stored()};
    train(best, 0);
    train(best, 0);
    best.finished(complete(0, 1));
    CHECK(whole_model(home.path("best")) == 0);
}

TEST_CASE("a folder that holds something else is refused and left as it is") {
    const hpo::tests::TemporaryDirectory home;
    const auto folder = home.path("best");
    std::filesystem::create_directory(folder);
    write_file(folder / "thesis.tex", "years of work");
    CHECK_THROWS_WITH((BestModel{settings_in(folder), stored()}), Contains("is not empty and no saved model; move it away"));
    CHECK(names_in(folder) == std::set<std::string>{"thesis.tex"});
    std::filesystem::remove_all(folder);

    const std::vector trials{complete(0, 1)};
    {
        const BestModel best{settings_in(folder), stored()};
        train(best, 0);
        best.finished(trials[0]);
    }
    CHECK_NOTHROW(BestModel{settings_in(folder), stored(trials)});
    auto others = settings_in(folder);
    others.about.study = "another";
    CHECK_THROWS_WITH((BestModel{others, stored(trials)}), Contains("holds the model of trial 0 of study s; move it away"));
    CHECK_THROWS_WITH((BestModel{settings_in(folder), stored()}), Contains("trial 0 of study s from another store"));
    CHECK_THROWS_WITH((BestModel{settings_in(folder), stored({complete(0, 2)})}), Contains("from another store"));
    CHECK(whole_model(folder) == 0);
}

TEST_CASE("what a killed process left is settled by the next, which also keeps a better model that it had not come to keep") {
    const hpo::tests::TemporaryDirectory home;
    const auto folder = home.path("best/of/all");
    std::vector trials{complete(0, 1), complete(1, 5), complete(2, 3), complete(3, 0)};
    trials[3].state = TrialState::running;
    {
        const BestModel killed{settings_in(folder), stored()};
        train(killed, 0);
        killed.finished(trials[0]);
        for (const std::int64_t number : {1, 2, 3}) train(killed, number);
    }
    CHECK(whole_model(folder) == 0);
    const BestModel next{settings_in(folder), stored(trials)};
    CHECK(whole_model(folder) == 1);
    CHECK(names_in(home.path("best/of/.all.pending")) == std::set<std::string>{"trial-3", "trial-3.json"});  // somebody runs it
    trials[3].state = TrialState::fail;
    next.settle(trials);
    CHECK(names_in(home.path("best/of/.all.pending")).empty());
}

TEST_CASE("killed at any of its system calls, the old or the new best model is there, whole, and the next process settles the rest") {
    const std::vector trials{complete(0, 1), complete(1, 2)};
    int kills = 0;
    bool finished = false;
    int seen_old = 0;
    int seen_new = 0;
    for (int calls = 1; !finished && calls < 5000; calls += 2) {  // each call stops twice, before it and after
        const hpo::tests::TemporaryDirectory home;
        const auto folder = home.path("best");
        const BestModel best{settings_in(folder), stored()};
        train(best, 0);
        best.finished(trials[0]);
        train(best, 1);
        const pid_t child = ::fork();
        if (child == 0) {
            ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            ::raise(SIGSTOP);
            best.finished(trials[1]);
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSTOPPED(status));
        for (int stop = 0; stop < calls && !finished; ++stop) {
            REQUIRE(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
            REQUIRE(::waitpid(child, &status, 0) == child);
            finished = WIFEXITED(status);
        }
        if (!finished) {
            ::kill(child, SIGKILL);
            REQUIRE(::waitpid(child, &status, 0) == child);
            ++kills;
        }
        const std::int64_t kept = whole_model(folder);
        REQUIRE((kept == 0 || kept == 1));
        ++(kept == 0 ? seen_old : seen_new);
        const BestModel next{settings_in(folder), stored(trials)};
        REQUIRE(whole_model(folder) == 1);
        REQUIRE(names_in(home.path(".best.pending")).empty());
    }
    INFO(kills << " kills, " << seen_old << " left the old model, " << seen_new << " the new one");
    CHECK(finished);
    CHECK(kills > 50);
    CHECK(seen_old > 10);
    CHECK(seen_new > 10);
}
