// SPDX-License-Identifier: MIT
#include "hpo/device/ledger_reservations.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::device::Ledger;
using hpo::device::LedgerReservations;

namespace {

struct Device {
    hpo::tests::TemporaryDirectory folder;
    std::vector<std::string> notes;

    [[nodiscard]] LedgerReservations room(std::int64_t budget_bytes = 100) {
        return LedgerReservations{Ledger{folder.path("ledger")},
                                  {.budget_bytes = budget_bytes, .note = [this](const std::string& text) { notes.push_back(text); }}};
    }
};

}  // namespace

TEST_CASE("an attempt gets its comfort if nobody waits for memory, else its need") {
    Device device;
    LedgerReservations room = device.room();
    CHECK(room.reserve({.trial = 0, .need_bytes = 30, .comfort_bytes = 40}) == 40);
    CHECK(room.reserve({.trial = 0, .need_bytes = 30, .comfort_bytes = 40}) == 40);  // it has it already
    CHECK(room.reserve({.trial = 1, .need_bytes = 50, .comfort_bytes = 70}) == 50);
    CHECK_FALSE(room.reserve({.trial = 2, .need_bytes = 20, .comfort_bytes = 20}));
    REQUIRE(device.notes.size() == 1);
    CHECK(device.notes[0] == "trial 2 waits for 20 bytes of the device: 90 bytes of 100 bytes are reserved for other attempts");
    CHECK(room.reserve({.trial = 3, .need_bytes = 5, .comfort_bytes = 6}) == 5);  // one waits: no comfort
    room.release(1);
    CHECK(room.reserve({.trial = 2, .need_bytes = 20, .comfort_bytes = 20}) == 20);
    CHECK(device.notes.size() == 1);
}

TEST_CASE("who waits for no room but for his turn is told that") {
    Device device;
    LedgerReservations room = device.room();
    Ledger older{device.folder.path("ledger")};
    REQUIRE(room.reserve({.trial = 0, .need_bytes = 60, .comfort_bytes = 60}));
    REQUIRE(older.ask({.trial = 0, .bytes = 40, .budget_bytes = 30}) == Ledger::Answer::never);
    REQUIRE(older.ask({.trial = 0, .bytes = 30, .budget_bytes = 30}) == Ledger::Answer::waits);  // of a smaller budget, which is full
    CHECK_FALSE(room.reserve({.trial = 1, .need_bytes = 20, .comfort_bytes = 20}));
    REQUIRE(device.notes.size() == 1);
    CHECK(device.notes[0] == "trial 1 waits for 20 bytes of the device: an older request comes first");
}

TEST_CASE("a little more is reserved than is predicted") {
    Device device;
    LedgerReservations room = device.room(65'000);
    CHECK(room.reserve({.trial = 0, .need_bytes = 6'400, .comfort_bytes = 6'400}) == 6'500);
    CHECK(room.reserve({.trial = 1, .need_bytes = 64'000, .comfort_bytes = 64'000}) == std::nullopt);
    room.release(0);
    CHECK(room.reserve({.trial = 1, .need_bytes = 64'900, .comfort_bytes = 64'900}) == 65'000);  // all there is
}

TEST_CASE("an attempt that needs more than the device has gets all of it, alone") {
    Device device;
    LedgerReservations room = device.room();
    CHECK(room.reserve({.trial = 0, .need_bytes = 10, .comfort_bytes = 10}) == 10);
    CHECK_FALSE(room.reserve({.trial = 1, .need_bytes = 1000, .comfort_bytes = 2000}));
    room.release(0);
    CHECK(room.reserve({.trial = 1, .need_bytes = 1000, .comfort_bytes = 2000}) == 100);
    CHECK_FALSE(room.reserve({.trial = 2, .need_bytes = 1, .comfort_bytes = 1}));
}

TEST_CASE("younger requests pass one that does not fit for as long as ten attempts take, and none after that") {
    const hpo::tests::TemporaryDirectory folder;
    double now = Ledger::host_seconds();
    LedgerReservations room{Ledger{folder.path("ledger"), Ledger::standard_patience, [&] { return now; }}, {.budget_bytes = 100}};
    const auto takes = [&](std::int64_t trial, std::int64_t bytes) {
        return room.reserve({.trial = trial, .need_bytes = bytes, .comfort_bytes = bytes}).has_value();
    };
    REQUIRE(takes(0, 60));
    REQUIRE(takes(1, 10));
    now += 30;
    room.release(1);
    CHECK_FALSE(takes(2, 90));
    const auto asks_again_after = [&](double seconds) {  // it is forgotten where it does not ask once a minute
        for (double left = seconds; left > 0; left -= 20) {
            now += std::min(left, 20.0);
            CHECK_FALSE(takes(2, 90));
        }
    };
    asks_again_after(299);
    CHECK(takes(3, 10));
    asks_again_after(2);
    CHECK_FALSE(takes(4, 10));
}

TEST_CASE("what an attempt turns out not to need is reserved for others") {
    Device device;
    LedgerReservations room = device.room();
    CHECK(room.reserve({.trial = 0, .need_bytes = 60, .comfort_bytes = 60}) == 60);
    CHECK_FALSE(room.reserve({.trial = 1, .need_bytes = 70, .comfort_bytes = 70}));
    room.shrink(0, 80);  // no more than it had
    room.shrink(1, 20);  // it has nothing yet
    CHECK_FALSE(room.reserve({.trial = 1, .need_bytes = 70, .comfort_bytes = 70}));
    room.shrink(0, 30);
    CHECK(room.reserve({.trial = 0, .need_bytes = 60, .comfort_bytes = 60}) == 30);
    CHECK(room.reserve({.trial = 1, .need_bytes = 64, .comfort_bytes = 64}) == 65);
}

TEST_CASE("two studies of one process do not mistake each other's trials for their own") {
    Device device;
    LedgerReservations first = device.room();
    LedgerReservations second = device.room();
    CHECK(first.reserve({.trial = 0, .need_bytes = 60, .comfort_bytes = 60}) == 60);
    CHECK_FALSE(second.reserve({.trial = 0, .need_bytes = 60, .comfort_bytes = 60}));
    second.release(0);
    CHECK(first.entries().size() == 1);
    first.release(0);
    CHECK(second.reserve({.trial = 0, .need_bytes = 60, .comfort_bytes = 60}) == 60);
}

TEST_CASE("sharing that makes nothing faster ends, but for the one that each run may have") {
    Device device;
    LedgerReservations room = device.room();
    const auto report = [&](int first, int last, std::chrono::milliseconds pace) {
        for (int step = first; step <= last; ++step) {
            std::this_thread::sleep_for(pace);
            room.reported(0, step);
        }
    };
    using std::chrono::milliseconds;
    REQUIRE(room.reserve({.trial = 0, .need_bytes = 10, .comfort_bytes = 10}));
    report(1, 4, milliseconds{5});
    REQUIRE(room.reserve({.trial = 1, .need_bytes = 10, .comfort_bytes = 10}));
    report(5, 9, milliseconds{40});
    REQUIRE(device.notes.size() == 1);
    CHECK(device.notes[0] == "one more trial on the device does not make all of them together faster: from now on at most 1 at a time");
    CHECK_FALSE(room.reserve({.trial = 2, .need_bytes = 10, .comfort_bytes = 10}));
    room.release(1);
    CHECK_FALSE(room.reserve({.trial = 2, .need_bytes = 10, .comfort_bytes = 10}));
    LedgerReservations other = device.room();
    CHECK(other.reserve({.trial = 0, .need_bytes = 10, .comfort_bytes = 10}));
    room.release(0);
    CHECK(room.reserve({.trial = 2, .need_bytes = 10, .comfort_bytes = 10}));
}
