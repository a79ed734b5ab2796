// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/xid_notes.hpp"

#include <string>
#include <utility>
#include <vector>

#include "hpo/failure/traits.hpp"
#include "support/catch.hpp"
#include "support/pool.hpp"

using namespace hpo;
using hpo::worker::XidNotes;

namespace {

/// A failure after the device reported some Xids while `attempts` ran.
Failure told(FailureKind kind, std::vector<int> xids, std::size_t attempts) {
    XidNotes notes{[xids = std::move(xids)](bool) mutable { return std::exchange(xids, {}); }};
    const std::size_t mark = notes.now();
    notes.look(attempts, true);
    Failure failure{.kind = kind, .message = "it died"};
    notes.explain(failure, mark);
    return failure;
}

}  // namespace

TEST_CASE("an Xid is the attempt's if no other ran, and else one of the device's") {
    const Failure own = told(FailureKind::crash, {31}, 1);
    CHECK(own.message ==
          "it died; the driver reported Xid 31: a page fault of the device's memory (start the program again) during this attempt");
    CHECK(to_text(own.kind) == to_text(FailureKind::cuda_sticky));
    CHECK(traits_of(own).blame == Blame::own);
    const Failure shared = told(FailureKind::crash, {31}, 3);
    CHECK(shared.message ==
          "it died; the driver reported Xid 31: a page fault of the device's memory (start the program again) while 3 attempts ran on the "
          "device");
    CHECK(to_text(shared.kind) == to_text(FailureKind::crash));  // perhaps another's
    const Failure none = told(FailureKind::crash, {}, 1);
    CHECK(none.message == "it died");
    CHECK(to_text(none.kind) == to_text(FailureKind::crash));
}

TEST_CASE("an Xid of a broken device explains dead processes, CUDA errors and timeouts, and nothing else") {
    for (const FailureKind kind : {FailureKind::crash, FailureKind::lost_worker, FailureKind::cuda_sticky, FailureKind::timeout}) {
        CAPTURE(to_text(kind));
        const Failure failure = told(kind, {45, 79}, 2);
        CHECK(to_text(failure.kind) == to_text(FailureKind::hardware));
        CHECK(traits_of(failure).blame == Blame::device);
    }
    for (const FailureKind kind : {FailureKind::out_of_memory, FailureKind::trainer_error, FailureKind::non_finite, FailureKind::data}) {
        CAPTURE(to_text(kind));
        CHECK(to_text(told(kind, {79}, 1).kind) == to_text(kind));
    }
    CHECK(to_text(told(FailureKind::crash, {63, 92}, 1).kind) == to_text(FailureKind::crash));  // nothing failed
}

TEST_CASE("a device that reports much makes no endless message") {
    std::vector<int> many;
    for (int i = 0; i < 500; ++i) many.push_back(13 + i % 8);
    const Failure failure = told(FailureKind::crash, many, 1);
    CHECK(failure.message.size() < 600);
}

TEST_CASE("what was reported before an attempt, or while none ran, is not its own") {
    std::vector<int> next;
    XidNotes notes{[&next](bool) { return std::exchange(next, {}); }};
    next = {79};
    notes.look(0);  // while the device was idle
    const std::size_t mark = notes.now();
    next = {13};
    notes.look(1, true);
    Failure failure{.kind = FailureKind::crash, .message = "it died"};
    notes.explain(failure, mark);
    CHECK(failure.message == "it died; the driver reported Xid 13: an exception of a kernel (start the program again) during this attempt");
    Failure later{.kind = FailureKind::crash, .message = "it died"};
    notes.explain(later, notes.now());
    CHECK(later.message == "it died");
    XidNotes nobody;
    nobody.look(1, true);
    nobody.explain(later, 0);
    CHECK(later.message == "it died");
}

TEST_CASE("a pool's attempt that died has the Xids that came while it ran") {
    worker::PoolConfig config = test::fault_config(2);
    std::vector<int> next;
    int patient = 0;
    config.xids = [&](bool patiently) {
        patient += patiently ? 1 : 0;
        return std::exchange(next, {});
    };
    worker::Pool pool{config};
    next = {79};  // before the attempt began
    test::Record record;
    pool.submit(test::fault_job(0, "abort"), record);
    next = {31};
    CHECK(test::wait_until(pool, record, [&] { return record.ended == 1; }));
    REQUIRE(record.ends.at(0).at(0).failure);
    const Failure& dead = *record.ends.at(0).at(0).failure;
    CHECK_THAT(dead.message, Catch::Contains("Xid 31"));
    CHECK_THAT(dead.message, !Catch::Contains("Xid 79"));
    CHECK(to_text(dead.kind) == to_text(FailureKind::cuda_sticky));
    CHECK(patient == 1);

    pool.submit(test::fault_job(1, "throw"), record);
    next = {119};
    CHECK(test::wait_until(pool, record, [&] { return record.ended == 2; }));
    const Failure& thrown = *record.ends.at(1).at(0).failure;
    CHECK_THAT(thrown.message, Catch::Contains("Xid 119"));
    CHECK(to_text(thrown.kind) == to_text(FailureKind::trainer_error));  // the exception was not the device's

    pool.submit(test::fault_job(2), record);
    next = {13};
    CHECK(test::wait_until(pool, record, [&] { return record.ended == 3; }));
    CHECK_FALSE(record.ends.at(2).at(0).failure);
    CHECK(patient == 2);  // nobody waits for the Xids of an attempt that did well
}
