// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hpo/core/memory_leak.hpp"
#include "hpo/worker/child/host_growth.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/pool.hpp"
#include "support/sanitizer.hpp"

using namespace hpo;
using namespace hpo::test;
using hpo::tests::mib;

namespace {

MemoryMark mark(const char* name, std::int64_t allocated, std::optional<std::int64_t> capacity = std::nullopt) {
    MemoryMark mark{name, 1, std::nullopt, {}};
    mark.reading.allocated = allocated;
    mark.reading.reserved = allocated + 500 * mib;  // a cache is no leak
    mark.reading.capacity = capacity;
    return mark;
}

/// What is found after an attempt that began and ended with these bytes.
std::optional<std::int64_t> after(worker::LeakWatch& watch, std::int64_t start, std::int64_t end,
                                  std::optional<std::int64_t> capacity = std::nullopt) {
    watch.begin("cuda");
    watch.see(mark("trial_start", start, capacity));
    watch.see(mark("step", 1000 * mib));
    watch.see(mark("end", end, capacity));
    const auto found = watch.leak();
    return found ? found->reading.allocated : std::nullopt;
}

struct Leaks {
    std::set<std::int64_t> pids;
    std::vector<std::int64_t> bytes;  ///< of those attempts that had one
    std::size_t complete = 0;
};

/// Attempts of the fault trainer, one after the other, on a metered device of 64 MiB.
Leaks leaks_of(const std::string& fault, std::int64_t bytes, int attempts) {
    auto config = fault_config();
    config.device_budget_bytes = 64 * mib;
    worker::Pool pool{config};
    Leaks leaks;
    for (int trial = 0; trial < attempts; ++trial) {
        const auto outcome = run(pool, with(fault_job(trial, fault), "weights", static_cast<double>(bytes)));
        INFO((outcome.failure ? outcome.failure->message : ""));
        leaks.complete += outcome.kind == OutcomeKind::complete ? 1 : 0;
        leaks.pids.insert(outcome.worker_pid);
        for (const MemoryMark& each : outcome.memory) {
            if (each.name == leak_mark) leaks.bytes.push_back(each.reading.allocated.value());
        }
    }
    return leaks;
}

}  // namespace

TEST_CASE("what libraries take once is no leak, what grows after it is") {
    worker::LeakWatch watch;
    CHECK_FALSE(after(watch, 0, 40 * mib));
    CHECK_FALSE(after(watch, 40 * mib, 40 * mib));
    CHECK_FALSE(after(watch, 40 * mib, 41 * mib));
    CHECK(after(watch, 41 * mib, 50 * mib) == 50 * mib);
}

TEST_CASE("the first attempt's part is bounded, on a small device by a twentieth of it") {
    worker::LeakWatch large;
    CHECK(after(large, 0, 65 * mib) == 65 * mib);
    worker::LeakWatch small;
    CHECK(after(small, 0, 4 * mib, 64 * mib) == 4 * mib);
    worker::LeakWatch fits;
    CHECK_FALSE(after(fits, 0, 3 * mib, 64 * mib));
    worker::LeakWatch tiny;
    CHECK_FALSE(after(tiny, 0, mib, 2 * mib));
}

TEST_CASE("what a prediction left before the first attempt is a leak, too") {
    worker::LeakWatch watch;
    CHECK(after(watch, 300 * mib, 300 * mib) == 300 * mib);
    worker::LeakWatch small;
    CHECK_FALSE(after(small, 30 * mib, 30 * mib));
    CHECK(after(small, 30 * mib, 40 * mib) == 40 * mib);
}

TEST_CASE("many small leaks are one") {
    worker::LeakWatch watch;
    std::int64_t held = 0;
    int attempts = 0;
    for (; attempts < 100; ++attempts, held += mib / 10) {
        if (after(watch, held, held + mib / 10)) break;
    }
    CHECK(attempts == 11);
}

TEST_CASE("another device begins anew, and without marks nothing is said") {
    worker::LeakWatch watch;
    CHECK_FALSE(after(watch, 0, 0));
    watch.begin("cpu");
    watch.see(mark("trial_start", 40 * mib));
    watch.see(mark("end", 40 * mib));
    CHECK_FALSE(watch.leak());
    worker::LeakWatch silent;
    silent.begin("cpu");
    CHECK_FALSE(silent.leak());
    silent.see(mark("trial_start", 0));
    CHECK_FALSE(silent.leak());  // it did not come to its end
}

TEST_CASE("a worker that leaks is named with its bytes and replaced, so that the device does not fill up") {
    const Leaks leaks = leaks_of("leak", 8 * mib, 12);  // an attempt needs half the device, and eight would leave it full
    CHECK(leaks.complete == 12);
    CHECK(leaks.bytes == std::vector<std::int64_t>(12, 8 * mib));
    CHECK(leaks.pids.size() == 12);
}

TEST_CASE("a small leak is found when it has become a megabyte") {
    const Leaks leaks = leaks_of("leak", 400 * 1024, 8);
    CHECK(leaks.complete == 8);
    CHECK(leaks.bytes == std::vector<std::int64_t>(2, 4 * 400 * 1024));
    CHECK(leaks.pids.size() == 2);
}

TEST_CASE("an honest worker is never replaced, nor one that keeps a little from its first attempt on") {
    for (const char* fault : {"honest", "one_time"}) {
        CAPTURE(fault);
        const Leaks leaks = leaks_of(fault, 3 * mib, 20);
        CHECK(leaks.complete == 20);
        CHECK(leaks.bytes.empty());
        CHECK(leaks.pids.size() == 1);
    }
}

TEST_CASE("a worker that keeps memory reserved without use is replaced") {
    worker::LeakWatch watch;
    CHECK_FALSE(watch.held_cache());  // nothing is known
    CHECK_FALSE(after(watch, 0, 0, 100 * 1024 * mib));
    REQUIRE(watch.held_cache());
    CHECK(watch.held_cache()->reading.reserved == 500 * mib);
    const Leaks kept = leaks_of("cache", 4 * mib, 5);  // a twentieth of the device is 3.2 MiB
    CHECK(kept.complete == 5);
    CHECK(kept.bytes.empty());
    CHECK(kept.pids.size() == 5);
}

TEST_CASE("a worker ends after as many attempts as it may run, and its successor goes on") {
    auto config = fault_config();
    config.worker_attempts = 3;
    worker::Pool pool{config};
    std::map<std::int64_t, int> attempts;
    for (int trial = 0; trial < 8; ++trial) {
        const auto outcome = run(pool, fault_job(trial));
        CHECK(outcome.kind == OutcomeKind::complete);
        ++attempts[outcome.worker_pid];
    }
    std::vector<int> counts;
    for (const auto& [pid, count] : attempts) counts.push_back(count);
    std::ranges::sort(counts);
    CHECK(counts == std::vector<int>{2, 3, 3});
}

TEST_CASE("host memory that grows with each attempt is found, and data that are read once are not") {
    worker::HostGrowth growing;
    for (int i = 0; i < 4; ++i) CHECK_FALSE(growing.see((1000 + 100 * i) * mib));
    CHECK(growing.see(1400 * mib) == 400 * mib);
    worker::HostGrowth steady;  // but for chance
    for (int i = 0; i < 500; ++i) CHECK_FALSE(steady.see((2000 + 7 * i % 31) * mib));
    worker::HostGrowth cache;
    for (int i = 0; i < 100; ++i) CHECK_FALSE(cache.see((i % 4 == 3 ? 1000 : 1000 + 300 * (i % 4)) * mib));
    worker::HostGrowth once;
    CHECK_FALSE(once.see(100 * mib));
    CHECK_FALSE(once.see(2000 * mib));
    for (int i = 0; i < 10; ++i) CHECK_FALSE(once.see(2000 * mib));
    CHECK(worker::own_host_bytes().value_or(0) > mib / 4);
}

TEST_CASE("host memory that grows slowly, or not with each attempt, is found before it has grown by much more than a gigabyte") {
    worker::HostGrowth slow;
    int attempts = 0;
    for (; attempts < 500 && !slow.see((1000 + 31 * attempts) * mib); ++attempts) {
    }
    CHECK(attempts == 34);
    worker::HostGrowth slower;
    std::optional<std::int64_t> grown;
    for (attempts = 0; attempts < 5000 && !grown; ++attempts) grown = slower.see((1000 + attempts) * mib);
    CHECK(grown.value_or(0) >= 1024 * mib);
    CHECK(grown.value_or(0) < 1060 * mib);
    worker::HostGrowth pausing;
    std::int64_t held = 1000 * mib;
    grown.reset();
    for (attempts = 0; attempts < 500 && !grown; ++attempts) {
        grown = pausing.see(held);
        held += (attempts % 4 == 3 ? -5 : 130) * mib;
    }
    CHECK(grown.value_or(0) >= 1024 * mib);
    CHECK(grown.value_or(0) < 1200 * mib);
}

TEST_CASE("a worker whose host memory grows with each attempt is replaced, and says by how much") {
    worker::Pool pool{fault_config()};
    std::vector<std::int64_t> pids;
    std::vector<std::int64_t> growth;
    for (int trial = 0; trial < 6; ++trial) {
        const auto outcome = run(pool, with(fault_job(trial, "grow"), "weights", static_cast<double>(100 * mib)));
        CHECK(outcome.kind == OutcomeKind::complete);
        pids.push_back(outcome.worker_pid);
        for (const MemoryMark& each : outcome.memory) {
            if (each.name == host_growth_mark) growth.push_back(each.reading.allocated.value());
        }
    }
    REQUIRE(growth.size() == 1);
    CHECK(growth[0] > 390 * mib);
    if (!sanitized) CHECK(growth[0] < 450 * mib);  // what a sanitizer notes about memory grows with it
    for (int trial = 0; trial < 5; ++trial) CHECK(pids[static_cast<std::size_t>(trial)] == pids[0]);
    CHECK(pids[5] != pids[0]);
}
