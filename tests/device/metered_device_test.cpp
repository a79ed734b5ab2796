// SPDX-License-Identifier: MIT
#include "hpo/device/metered_device.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "device/out_of_memory_text.hpp"
#include "support/catch.hpp"

using hpo::device::MeteredDevice;

namespace {

std::filesystem::path account_file(const char* name) {
    return std::filesystem::temp_directory_path() / ("hpo-metered-" + std::string{name} + "-" + std::to_string(::getpid()));
}

/// Runs `body` in another process; the caller kills or waits for it.
template <class Body>
pid_t in_process(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        ::_exit(0);
    }
    return child;
}

void wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
}

}  // namespace

TEST_CASE("a metered device gives out its capacity and no byte more") {
    auto device = MeteredDevice::create(account_file("capacity"), 1000);
    CHECK(device.charge(600));
    CHECK_FALSE(device.charge(401));
    CHECK(device.charge(400));
    CHECK(device.occupancy().used_bytes == 1000);
    device.release(600);
    CHECK(device.occupancy().used_bytes == 400);
    REQUIRE(device.occupancy().processes.size() == 1);
    CHECK(device.occupancy().processes[0] == hpo::MemoryNeighbour{::getpid(), 400});
}

TEST_CASE("a device of 0 bytes refuses the first byte") {
    auto device = MeteredDevice::create(account_file("zero"), 0);
    CHECK_FALSE(device.charge(1));
    CHECK(device.charge(0));
}

TEST_CASE("two processes on one device take memory from each other") {
    const auto file = account_file("neighbours");
    auto device = MeteredDevice::create(file, 1000);
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = in_process([&] {
        auto own = MeteredDevice::open(file);
        const char answer = own.charge(700) ? 'y' : 'n';
        static_cast<void>(::write(ready[1], &answer, 1));
        ::pause();
    });
    char answer = 0;
    REQUIRE(::read(ready[0], &answer, 1) == 1);
    CHECK(answer == 'y');
    CHECK_FALSE(device.charge(301));
    CHECK(device.charge(300));
    CHECK(device.occupancy().processes.size() == 2);

    ::kill(child, SIGKILL);
    wait_for(child);
    CHECK(device.occupancy().used_bytes == 1000);
    CHECK(device.charge(700));  // what the dead process held comes back when it is needed
    CHECK(device.occupancy().processes.size() == 1);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("a process that is killed at any moment gives everything back") {
    const auto file = account_file("killed");
    auto device = MeteredDevice::create(file, 1 << 20);
    REQUIRE(device.charge(4096));
    for (int round = 0; round < 40; ++round) {
        const pid_t child = in_process([&] {
            auto own = MeteredDevice::open(file);
            for (;;) {
                if (own.charge(100)) own.release(100);
                static_cast<void>(own.charge(7));
            }
        });
        ::usleep(static_cast<useconds_t>(200 + 97 * round));
        ::kill(child, SIGKILL);
        wait_for(child);
        device.reclaim_dead();
        CHECK(device.occupancy().used_bytes == 4096);
    }
}

TEST_CASE("a supervisor's cap refuses its process alone, and tells that from a full device") {
    using Charged = hpo::device::Charge::Answer;
    const auto file = account_file("cap");
    auto device = MeteredDevice::create(file, 1000);
    CHECK_FALSE(device.own_cap());
    device.set_cap(hpo::this_process(), 300);
    CHECK(device.own_cap() == 300);
    CHECK(device.charge(300));
    CHECK(device.charge(1).answer == Charged::above_cap);
    device.set_cap(hpo::this_process(), 100);  // what it has stays
    CHECK(device.occupancy().used_bytes == 300);
    device.release(250);
    CHECK(device.charge(50));
    CHECK(device.charge(1).answer == Charged::above_cap);
    device.set_cap(hpo::this_process(), std::nullopt);
    CHECK(device.charge(900));
    CHECK(device.charge(1).answer == Charged::full);
    device.release(1000);

    int go[2];
    int told[2];
    REQUIRE(::pipe(go) == 0);
    REQUIRE(::pipe(told) == 0);
    const pid_t child = in_process([&] {
        char word = 0;
        if (::read(go[0], &word, 1) != 1) return;
        auto own = MeteredDevice::open(file);
        const char answers[] = {own.charge(400) ? 'y' : 'n', own.charge(1).answer == Charged::above_cap ? 'c' : 'f'};
        static_cast<void>(::write(told[1], answers, 2));
        ::pause();
    });
    device.set_cap(*hpo::identify_process(child), 400);  // before it has opened the device
    CHECK(device.occupancy().processes.empty());
    REQUIRE(::write(go[1], "g", 1) == 1);
    char answers[2] = {};
    REQUIRE(::read(told[0], answers, 2) == 2);
    CHECK(answers[0] == 'y');
    CHECK(answers[1] == 'c');
    CHECK(device.charge(600));  // the neighbour has all that is left
    CHECK(device.charge(1).answer == Charged::full);
    ::kill(child, SIGKILL);
    wait_for(child);
    CHECK(device.reclaim_dead() == 400);
    for (const int end : {go[0], go[1], told[0], told[1]}) ::close(end);
}

TEST_CASE("a process id that was given to another process does not keep memory") {
    const auto known = hpo::this_process();
    CHECK(hpo::is_alive(known));
    CHECK_FALSE(hpo::is_alive({known.pid, known.start_ticks + 1}));
    CHECK_FALSE(hpo::is_alive({0, 0}));
}

TEST_CASE("a process that cannot be asked about keeps its memory") {
    auto device = MeteredDevice::create(account_file("files"), 1000);
    int told[2];
    REQUIRE(::pipe(told) == 0);
    const pid_t child = in_process([&] {
        auto own = MeteredDevice::open(device.file());
        const char answer = own.charge(400) ? 'y' : 'n';
        static_cast<void>(::write(told[1], &answer, 1));
        ::pause();
    });
    char answer = 0;
    REQUIRE(::read(told[0], &answer, 1) == 1);
    REQUIRE(answer == 'y');
    const auto identity = hpo::identify_process(child);
    REQUIRE(identity);
    CHECK_FALSE(hpo::is_alive({child, identity->start_ticks + 1}));

    ::rlimit files{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
    ::rlimit none = files;
    none.rlim_cur = 0;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const bool can_be_identified = hpo::identify_process(child).has_value();
    const bool alive = hpo::is_alive(*identity);
    const auto reclaimed = device.reclaim_dead();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK_FALSE(can_be_identified);
    CHECK(alive);
    CHECK(reclaimed == 0);
    CHECK(hpo::is_alive({child, 0}));  // whose start nobody knew

    ::kill(child, SIGKILL);
    wait_for(child);
    CHECK_FALSE(hpo::is_alive(*identity));
    CHECK_FALSE(hpo::is_alive({child, 0}));
    CHECK(device.reclaim_dead() == 400);
    for (const int end : told) ::close(end);
}

TEST_CASE("an absurd request is refused") {
    using Charged = hpo::device::Charge::Answer;
    constexpr auto absurd = std::numeric_limits<std::int64_t>::max();
    auto device = MeteredDevice::create(account_file("absurd"), 1000);
    REQUIRE(device.charge(10));
    CHECK(device.charge(absurd).answer == Charged::full);
    device.set_cap(hpo::this_process(), 300);
    CHECK(device.charge(absurd).answer == Charged::above_cap);
    CHECK(device.occupancy().used_bytes == 10);
    device.release(10);
}

TEST_CASE("threads may charge one device at once") {
    auto device = MeteredDevice::create(account_file("threads"), 1 << 20);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 2000; ++n) {
                if (device.charge(64)) device.release(64);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(device.occupancy().used_bytes == 0);
}

TEST_CASE("what is no account of a metered device is refused with its name") {
    const auto file = account_file("foreign");
    CHECK_THROWS_WITH(MeteredDevice::open(file), Catch::Contains(file.string()) && Catch::Contains("No such file"));
    std::ofstream{file} << "something else";
    CHECK_THROWS_WITH(MeteredDevice::open(file), Catch::Contains("not the account of a metered device"));
    CHECK_THROWS_WITH(MeteredDevice::create(file, 10), Catch::Contains("File exists"));
    std::filesystem::remove(file);
    CHECK_THROWS_AS(MeteredDevice::create(file, -1), hpo::Error);
}

TEST_CASE("the account's file goes with the object that made it") {
    const auto file = account_file("file");
    {
        auto device = MeteredDevice::create(file, 10);
        CHECK(std::filesystem::exists(file));
        auto moved = std::move(device);
        CHECK(moved.charge(10));
    }
    CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a refusal is worded with the phrases of CUDA's allocator") {
    hpo::MemoryReading reading;
    reading.allocated = reading.reserved = 396LL << 20;
    reading.capacity = 600LL << 20;
    reading.free = 4LL << 20;
    reading.limit = 400LL << 20;
    reading.neighbours = {{123, 200LL << 20}};
    CHECK(hpo::device::out_of_memory_text(20LL << 20, reading) ==
          "CPU device out of memory. Tried to allocate 20.00 MiB. The device has a total capacity of 600.00 MiB of which 4.00 MiB is free. "
          "Process 123 has 200.00 MiB memory in use. Including non-PyTorch memory, this process has 396.00 MiB memory in use. "
          "400.00 MiB allowed; Of the allocated memory 396.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "
          "unallocated.");
}
