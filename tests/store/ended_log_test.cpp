// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "hpo/store/in_memory.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;

namespace {

void check_log_of_ended_trial(Store& store) {
    const std::vector<Direction> directions{Direction::minimize};
    const Study study = store.open_study("s", directions, Store::Open::create);
    const Trial trial = store.begin_trial(study.id, std::nullopt);
    store.begin_attempt(trial, Attempt{});
    store.keep_log(trial, 0, "epoch 1\n");
    std::vector<Trial> trials;
    store.refresh(study.id, trials);
    Trial ended = trials.at(0);
    ended.state = TrialState::fail;
    store.finish(ended);
    CHECK_THROWS_AS(store.keep_log(ended, 0, "another"), Error);
    store.add_to_log(ended, 0, "once more: ");
    store.add_to_log(ended, 0, "in kernel gather");
    CHECK(store.log(trial, 0) == "epoch 1\nonce more: in kernel gather");
    CHECK_THROWS_WITH(store.add_to_log(ended, 1, "none"),
                      Catch::Contains("attempt 1 of trial 0") && Catch::Contains("an attempt that has begun"));
}

}  // namespace

TEST_CASE("the log of an attempt grows after its trial has ended, and nothing else of it changes") {
    store::InMemory in_memory;
    check_log_of_ended_trial(in_memory);
    const tests::TemporaryDirectory directory;
    store::Sqlite sqlite{directory.file("a.db")};
    check_log_of_ended_trial(sqlite);
}
