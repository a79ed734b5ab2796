// SPDX-License-Identifier: MIT
#include "hpo/device/left_by_others.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "hpo/device/host_occupancy.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo::device;
using hpo::tests::mib;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
}

}  // namespace

TEST_CASE("what others leave counts our own memory as free, and what nobody is seen to hold as theirs") {
    const Occupancy occupancy{1000, 700, {{11, 200}, {::getpid(), 300}, {12, 50}}};  // 150 belong to nobody that can be seen
    const auto reading = left_by_others(occupancy, [](std::int64_t pid) { return pid == ::getpid(); });
    CHECK(reading.capacity == 1000);
    CHECK(reading.free == 600);
    REQUIRE(reading.neighbours.size() == 2);
    CHECK(reading.neighbours[0].pid == 11);
    CHECK(reading.neighbours[0].bytes == 200);
    const auto all = left_by_others(occupancy, [](std::int64_t) { return false; });
    CHECK(all.free == 300);
    CHECK(all.neighbours[0].pid == ::getpid());
    CHECK(all.neighbours[0].program.starts_with("test_device"));
    CHECK(left_by_others(Occupancy{100, 500, {}}, [](std::int64_t) { return true; }).free == 0);
}

TEST_CASE("of many neighbours the largest are told") {
    Occupancy occupancy{1000, 1000, {}};
    for (std::int64_t i = 1; i <= 40; ++i) occupancy.processes.push_back({i, i});
    const auto reading = left_by_others(occupancy, [](std::int64_t) { return false; });
    REQUIRE(reading.neighbours.size() == 8);
    CHECK(reading.neighbours[0].bytes == 40);
    CHECK(reading.neighbours[7].bytes == 33);
}

TEST_CASE("the scarcer of two memories decides") {
    hpo::MemoryReading device;
    device.capacity = 100;
    device.free = 90;
    hpo::MemoryReading host;
    host.capacity = 1000;
    host.free = 20;
    host.neighbours = {{7, 980}};
    for (const auto& both : {scarcer(device, host), scarcer(host, device)}) {
        CHECK(both.free == 20);
        CHECK(both.capacity == 100);
        CHECK(both.neighbours.size() == 1);
    }
}

TEST_CASE("the host's processes and a cgroup's limit are read") {
    const hpo::tests::TemporaryDirectory root;
    write(root.path() / "proc/meminfo", "MemTotal: 8192 kB\nMemFree: 10 kB\nMemAvailable: 6144 kB\n");
    write(root.path() / "proc/self/cgroup", "0::/job\n");
    write(root.path() / "proc/77/statm", "900 300 100 1 0 1 0\n");
    write(root.path() / "proc/88/statm", "900 100 100 1 0 1 0\n");
    const auto host = host_occupancy(root.path());
    REQUIRE(host);
    CHECK(host->capacity_bytes == 8 * mib);
    CHECK(host->used_bytes == 2 * mib);
    REQUIRE(host->processes.size() == 1);
    CHECK(host->processes[0] == hpo::MemoryNeighbour{77, 200 * ::sysconf(_SC_PAGESIZE)});
    write(root.path() / "sys/fs/cgroup/job/memory.max", "4194304\n");
    write(root.path() / "sys/fs/cgroup/job/memory.current", "3145728\n");
    CHECK(host_occupancy(root.path())->capacity_bytes == 4 * mib);
    CHECK(host_occupancy(root.path())->used_bytes == 3 * mib);
    CHECK_FALSE(host_occupancy(root.path() / "nothing"));
}

TEST_CASE("a process of this host is named, with its parent and what it holds") {
    hpo::tests::ChildProcess child{[](const auto& tell) {
        std::vector<char> held(64 * mib, 'x');
        tell(std::string(1, held[12345]));
        ::pause();
    }};
    REQUIRE(child.line() == "x");
    CHECK(process_name(child.pid()).starts_with("test_device"));
    CHECK(parent_process(child.pid()) == ::getpid());
    CHECK(own_host_bytes(child.pid()) >= 64 * mib);
    CHECK(process_name(0).empty());
    CHECK(parent_process(0) == 0);
}
