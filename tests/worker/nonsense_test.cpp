// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/pool.hpp"
#include "support/wording.hpp"

using namespace hpo;
using namespace hpo::test;

namespace {

worker::PoolConfig babbling(const std::string& kind) {
    auto config = fault_config();
    config.worker_program = HPO_BINARY_DIR "/bin/hpo_test_babbler";
    worker::set_variable(config.environment, "HPO_TEST_BABBLE", kind);
    return config;
}

/// Submits one job to a babbling worker; exactly one end must come.
AttemptOutcome outcome_with(const std::string& kind) {
    worker::Pool pool{babbling(kind)};
    Record record;
    pool.submit(fault_job(0), record);
    REQUIRE(wait_until(pool, record, [&] { return record.ended > 0; }));
    pool.wait(record, 0.02);
    CHECK(record.ended == 1);
    CHECK(pool.free_slots() == 1);
    return record.ends[0][0];
}

}  // namespace

TEST_CASE("a program that is no worker is found out at the start") {
    CHECK_THROWS_WITH(worker::Pool{babbling("silent")}, Catch::Contains(ended_with_status(0)));
    CHECK_THROWS_WITH(worker::Pool{babbling("half_line")}, Catch::Contains(ended_with_status(0)));
    CHECK_THROWS_WITH(worker::Pool{babbling("refuses")}, Catch::Contains("no such thing"));
    CHECK_THROWS_WITH(worker::Pool{babbling("other_protocol")}, Catch::Contains("speaks protocol 3; this program speaks 2"));
    CHECK(children().empty());
}

TEST_CASE("a worker that talks nonsense costs its attempt, with a clear failure") {
    CHECK(outcome_with("ends_twice").kind == OutcomeKind::complete);
    CHECK(outcome_with("answers_unasked").kind == OutcomeKind::complete);
    CHECK(outcome_with("half_end").failure->message == ended_with_status(0));
    CHECK(outcome_with("all_at_once").failure->message == "why");
    CHECK_THAT(outcome_with("endless_line").failure->message, Catch::Contains("a line above 256.00 MiB"));
}

TEST_CASE("an answer to another question than the latest is passed over") {
    worker::Pool pool{babbling("answers_late")};
    const auto first = pool.profile({}, {});
    REQUIRE(first);
    CHECK(first->parameters == 2);
    const auto second = pool.profile({}, {});
    REQUIRE(second);
    CHECK(second->parameters == 4);
}

TEST_CASE("150 workers that babble at random: one end each, no crash, nothing left over") {
    const auto descriptors = open_descriptors();
    for (int seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        const auto outcome = outcome_with(std::to_string(seed));
        CHECK((outcome.kind == OutcomeKind::complete) == !outcome.failure);
        if (outcome.failure) CHECK_FALSE(outcome.failure->message.empty());
    }
    CHECK(open_descriptors() == descriptors);
    CHECK(children().empty());
}

TEST_CASE("150 supervisors that babble at random: every worker ends in order") {
    Rng rng = Seed{5}.rng();
    std::vector<std::string> lines;
    for (const auto& request : all_requests()) lines.push_back(worker::message_line(request));
    int statuses[3] = {};
    for (int round = 0; round < 150; ++round) {
        CAPTURE(round);
        auto sockets = worker::SocketPair::make();
        const worker::LogFile log{""};
        auto process =
            worker::Process::start({.program = HPO_BINARY_DIR "/bin/hpo-worker",
                                    .arguments = {"--fd", "3", "--trainer", "fault", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"},
                                    .environment = worker::inherited_environment(),
                                    .channel = sockets.theirs.get(),
                                    .output = log.descriptor(),
                                    .errors = log.descriptor()});
        sockets.theirs = worker::Descriptor{};
        for (auto left = 1 + rng.below(10); left > 0; --left) {
            std::string line = lines[rng.below(lines.size())];
            if (rng.below(2) > 0) line = mutated(line, rng);
            line += rng.below(4) > 0 ? "\n" : "";
            if (::send(sockets.ours.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) break;
        }
        if (rng.below(2) > 0) ::shutdown(sockets.ours.get(), SHUT_WR);
        else sockets.ours = worker::Descriptor{};
        const auto exit = process.wait(10'000ms);
        REQUIRE(exit);
        CHECK_FALSE(exit->signal);
        REQUIRE((exit->status == 0 || exit->status == 2));
        ++statuses[*exit->status];
    }
    CHECK(statuses[0] > 5);
    CHECK(statuses[2] > 5);
}
