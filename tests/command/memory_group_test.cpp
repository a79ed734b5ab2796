// SPDX-License-Identifier: MIT
#include "command/memory_group.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "command/command_trainer.hpp"
#include "hpo/base/error.hpp"
#include "support/catch.hpp"
#include "support/filled_memory.hpp"
#include "support/temporary_directory.hpp"

using Catch::Contains;
using hpo::command::MemoryGroup;
using hpo::tests::TemporaryDirectory;

namespace {

constexpr std::int64_t mebibytes(int count) { return std::int64_t{count} << 20; }

/// True if this user may limit a process's memory by a control group.
bool can_limit() {
    try {
        const MemoryGroup tried{mebibytes(1)};
        return true;
    } catch (const hpo::Error& error) {
        WARN("skipped: " << error.what());
        return false;
    }
}

/// How a process ends that takes so much memory in a group.
int status_after_taking(std::int64_t bytes, const MemoryGroup& group) {
    std::array<int, 2> go{};
    REQUIRE(::pipe(go.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char word = 0;
        if (::read(go[0], &word, 1) != 1) ::_exit(2);
        hpo::tests::filled_memory(bytes);
        ::_exit(0);
    }
    group.add(child);
    REQUIRE(::write(go[1], "g", 1) == 1);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    ::close(go[0]);
    ::close(go[1]);
    return status;
}

/// A folder that looks like the root of a machine.
struct Machine {
    TemporaryDirectory folder;
    [[nodiscard]] std::filesystem::path root() const { return folder.path(); }
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root() / file).parent_path());
        std::ofstream{root() / file} << text;
    }
};

std::string text_of(const std::filesystem::path& file) {
    std::string word;
    std::ifstream{file} >> word;
    return word;
}

}  // namespace

TEST_CASE("the kernel ends a process that takes more than its group may, and no other") {
    if (!can_limit()) return;
    const MemoryGroup large{mebibytes(64)}, small{mebibytes(64)};
    const int too_much = status_after_taking(mebibytes(256), large);
    CHECK(WIFSIGNALED(too_much));
    CHECK(WTERMSIG(too_much) == SIGKILL);
    CHECK(large.has_killed());
    CHECK(status_after_taking(mebibytes(16), small) == 0);
    CHECK_FALSE(small.has_killed());
    CHECK_NOTHROW(small.add(1 << 21));  // no such process: it has ended
}

TEST_CASE("a group is gone with its object") {
    if (!can_limit()) return;
    std::filesystem::path folder;
    {
        const MemoryGroup group{mebibytes(64)};
        folder = group.folder();
        CHECK(std::filesystem::exists(folder));
    }
    CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("a group of version 2 is below the nearest group that can limit memory") {
    const Machine machine;
    machine.write("proc/self/cgroup", "0::/user.slice/app.slice/run-7.scope\n");
    machine.write("sys/fs/cgroup/cgroup.subtree_control", "cpu memory");
    machine.write("sys/fs/cgroup/user.slice/cgroup.subtree_control", "memory pids");
    machine.write("sys/fs/cgroup/user.slice/app.slice/cgroup.subtree_control", "pids memory");
    machine.write("sys/fs/cgroup/user.slice/app.slice/run-7.scope/cgroup.subtree_control", "");
    const MemoryGroup group{1000, machine.root()};
    CHECK(group.folder().parent_path() == machine.root() / "sys/fs/cgroup/user.slice/app.slice");
    CHECK(text_of(group.folder() / "memory.max") == "1000");
    CHECK(text_of(group.folder() / "memory.swap.max") == "0");
    machine.write(std::filesystem::relative(group.folder() / "memory.events", machine.root()).string(), "oom 3\noom_kill 1\n");
    CHECK(group.has_killed());
}

TEST_CASE("a group of version 1 is below this process's own, or below the top if a container hides it") {
    const Machine machine;
    machine.write("proc/self/cgroup", "5:cpu:/docker/ab\n4:memory:/docker/ab\n0::/\n");
    machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    {
        const MemoryGroup group{1000, machine.root()};
        CHECK(group.folder().parent_path() == machine.root() / "sys/fs/cgroup/memory");
        CHECK(text_of(group.folder() / "memory.limit_in_bytes") == "1000");
    }
    machine.write("sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes", "5000");
    const MemoryGroup group{1000, machine.root()};
    CHECK(group.folder().parent_path() == machine.root() / "sys/fs/cgroup/memory/docker/ab");
}

TEST_CASE("groups of processes that were killed are removed by the next one") {
    const Machine machine;
    machine.write("proc/self/cgroup", "4:memory:/\n");
    machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    const auto top = machine.root() / "sys/fs/cgroup/memory";
    const auto left = top / ("hpo-" + std::to_string(child) + "-0");
    const auto used = top / ("hpo-" + std::to_string(::getppid()) + "-0");
    const auto other = top / "hpo-notes";
    for (const auto& folder : {left, used, other}) std::filesystem::create_directory(folder);
    const MemoryGroup group{1000, machine.root()};
    CHECK_FALSE(std::filesystem::exists(left));
    CHECK(std::filesystem::exists(used));
    CHECK(std::filesystem::exists(other));
}

TEST_CASE("where no group can be made, a trainer that is asked for one says so before the first trial") {
    const Machine machine;
    machine.write("proc/self/cgroup", "0::/session-3.scope\n");
    CHECK_THROWS_WITH((MemoryGroup{1000, machine.root()}), Contains("no control group above this process can limit memory; expected root"));
    hpo::TrainerJob job;
    job.options = {{"arguments", R"(["true"])"}, {"hard_limit", true}};
    const auto problems = hpo::command::CommandTrainer{}.check(job);
    if (can_limit()) CHECK(problems.empty());
    else CHECK(problems.at(0).where == "hard_limit");
}
