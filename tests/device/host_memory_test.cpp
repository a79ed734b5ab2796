// SPDX-License-Identifier: MIT
#include "hpo/device/host_memory.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::device::host_memory;
using hpo::tests::mib;

namespace {

/// A machine of 8 GiB of which 6 are available, made of files.
class Machine {
public:
    explicit Machine(const std::string& membership) {
        file("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 10 kB\nMemAvailable: 6291456 kB\n");
        file("proc/self/cgroup", membership);
    }
    void file(const std::string& name, const std::string& text) const {
        const auto path = root_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream{path} << text;
    }
    void group(const std::string& folder, std::int64_t limit_bytes, std::int64_t used_bytes) const {
        file("sys/fs/cgroup" + folder + "/memory.max", std::to_string(limit_bytes) + "\n");
        file("sys/fs/cgroup" + folder + "/memory.current", std::to_string(used_bytes) + "\n");
    }
    [[nodiscard]] hpo::device::HostMemory memory() const { return host_memory(root_.path()).value(); }

private:
    hpo::tests::TemporaryDirectory root_;
};

}  // namespace

TEST_CASE("a container that has read many files is not full") {
    const Machine machine{"0::/job\n"};
    machine.group("/job", 4096 * mib, 4096 * mib);
    CHECK(machine.memory().available == 0);
    machine.file("sys/fs/cgroup/job/memory.stat", "anon 314572800\nfile 3670016000\nshmem 104857600\ninactive_file 2097152000\n" +
                                                      ("active_file " + std::to_string(1000 * mib)) +
                                                      "\nslab_reclaimable 52428800\nslab_unreclaimable 7000000\n");
    CHECK(machine.memory().total == 4096 * mib);
    CHECK(machine.memory().available == (2000 + 1000 + 50) * mib);
    CHECK(machine.memory().limited_by_cgroup);
    machine.file("sys/fs/cgroup/job/memory.stat", "inactive_file 999999999999\n");  // the figures are not of one moment
    CHECK(machine.memory().available == 4096 * mib);
}

TEST_CASE("of the groups around a process the one with the least left decides") {
    const Machine machine{"0::/user.slice/job/step\n"};
    machine.file("sys/fs/cgroup/user.slice/job/step/memory.max", "max\n");
    CHECK(machine.memory().total == 8192 * mib);
    CHECK(machine.memory().available == 6144 * mib);
    CHECK_FALSE(machine.memory().limited_by_cgroup);
    machine.group("/user.slice", 4096 * mib, 3584 * mib);  // others in it hold most
    machine.group("/user.slice/job", 2048 * mib, 100 * mib);
    CHECK(machine.memory().total == 2048 * mib);
    CHECK(machine.memory().available == 512 * mib);
    machine.group("/user.slice/job/step", 1024 * mib, 768 * mib);
    CHECK(machine.memory().total == 1024 * mib);
    CHECK(machine.memory().available == 256 * mib);
    machine.group("/user.slice/job/step", std::int64_t{1} << 50, 768 * mib);  // more than the machine: no limit
    CHECK(machine.memory().total == 2048 * mib);
    CHECK(machine.memory().available == 512 * mib);
}

TEST_CASE("a container sees its group as the top of the hierarchy") {
    const Machine own{"0::/\n"};
    own.group("", 4096 * mib, 1024 * mib);
    CHECK(own.memory().available == 3072 * mib);
    const Machine of_the_host{"0::/docker/0123456789ab\n"};  // a folder that is not there
    of_the_host.group("", 4096 * mib, 1024 * mib);
    CHECK(of_the_host.memory().total == 4096 * mib);
    CHECK(of_the_host.memory().available == 3072 * mib);
}

TEST_CASE("version 1 of control groups is read in the same way") {
    const Machine machine{"5:cpu,cpuacct:/elsewhere\n4:memory:/slurm/job\n"};
    const std::string top = "sys/fs/cgroup/memory";
    machine.file(top + "/memory.limit_in_bytes", "9223372036854771712\n");
    machine.file(top + "/slurm/memory.limit_in_bytes", std::to_string(4096 * mib));
    machine.file(top + "/slurm/memory.usage_in_bytes", std::to_string(4096 * mib));
    machine.file(top + "/slurm/memory.stat", "inactive_file 4096\ntotal_inactive_file 1073741824\ntotal_active_file 1073741824\n");
    machine.file(top + "/slurm/job/memory.limit_in_bytes", std::to_string(3072 * mib));
    machine.file(top + "/slurm/job/memory.usage_in_bytes", std::to_string(100 * mib));
    CHECK(machine.memory().total == 3072 * mib);
    CHECK(machine.memory().available == 2048 * mib);
}
