// SPDX-License-Identifier: MIT
#include "command/tree_memory.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/filled_memory.hpp"
#include "support/processes.hpp"

using hpo::command::TreeMemory;
using hpo::tests::filled_memory;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t tolerance = 4 * mebibyte;  // page tables, stacks, and what a process writes to of the program's

/// A keeper whose child is a copy of this process. The copy runs `work`, and then waits. Ends with this object.
class KeptCopy {
public:
    explicit KeptCopy(const std::function<void()>& work) {
        std::array<int, 2> told{};
        REQUIRE(::pipe(told.data()) == 0);
        keeper_ = ::fork();
        if (keeper_ == 0) {
            const pid_t copy = ::fork();
            if (copy == 0) {
                work();
                const pid_t self = ::getpid();
                if (::write(told[1], &self, sizeof self) != sizeof self) ::_exit(2);
            }
            for (;;) ::pause();
        }
        ::close(told[1]);
        REQUIRE(::read(told[0], &copy_, sizeof copy_) == sizeof copy_);
        ::close(told[0]);
    }
    KeptCopy(const KeptCopy&) = delete;
    KeptCopy& operator=(const KeptCopy&) = delete;
    ~KeptCopy() {
        std::vector<pid_t> tree = hpo::command::process_tree(keeper_);
        for (const pid_t pid : tree) ::kill(pid, SIGKILL);
        ::waitpid(keeper_, nullptr, 0);
    }

    [[nodiscard]] TreeMemory memory() const { return {keeper_, "cpu", copy_}; }
    [[nodiscard]] pid_t copy() const { return copy_; }
    void kill_keeper() const {
        ::kill(keeper_, SIGKILL);
        siginfo_t end{};
        REQUIRE(::waitid(P_PID, static_cast<id_t>(keeper_), &end, WEXITED | WNOWAIT) == 0);
    }

private:
    pid_t keeper_ = -1;
    pid_t copy_ = -1;
};

/// This process, as a program with so much memory of its own.
class Program {
public:
    explicit Program(std::int64_t bytes) : bytes_{bytes}, memory_{filled_memory(bytes)} {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { ::munmap(memory_, static_cast<std::size_t>(bytes_)); }

private:
    std::int64_t bytes_;
    void* memory_;
};

void is_about(std::int64_t bytes, std::int64_t expected) {
    CHECK(bytes >= expected - tolerance);  // the kernel counts resident pages in batches
    CHECK(bytes <= expected + tolerance);
}

}  // namespace

TEST_CASE("what a copy takes does not depend on how many others run, nor on what the program holds") {
    const Program program{96 * mebibyte};
    const auto work = [] { filled_memory(32 * mebibyte); };
    const KeptCopy alone{work};
    TreeMemory memory = alone.memory();
    is_about(memory.now().value().bytes, 32 * mebibyte);
    const KeptCopy second{work}, third{work};
    is_about(memory.now().value().bytes, 32 * mebibyte);
    is_about(third.memory().now().value().bytes, 32 * mebibyte);
}

TEST_CASE("memory that a copy gave back between two looks is seen") {
    const Program program{64 * mebibyte};
    const KeptCopy copy{[] {
        filled_memory(16 * mebibyte);
        ::munmap(filled_memory(48 * mebibyte), 48 * mebibyte);
    }};
    const TreeMemory::Look look = copy.memory().now().value();
    is_about(look.bytes, 16 * mebibyte);
    is_about(look.most, 64 * mebibyte);
}

TEST_CASE("what the children of a copy have alone is added, and what they share with it counts once") {
    const Program program{64 * mebibyte};
    const KeptCopy copy{[] {
        filled_memory(32 * mebibyte);
        ::signal(SIGUSR1, [](int) {
            if (::fork() != 0) return;
            filled_memory(16 * mebibyte);
            for (;;) ::pause();
        });
    }};
    TreeMemory memory = copy.memory();
    is_about(memory.now().value().bytes, 32 * mebibyte);
    ::kill(copy.copy(), SIGUSR1);
    CHECK(hpo::test::eventually([&] { return memory.now().value().bytes >= 48 * mebibyte - tolerance; }));
    is_about(memory.now().value().bytes, 48 * mebibyte);
}

TEST_CASE("what was seen below a keeper is killed, even if it was looked at again after the keeper's end") {
    const KeptCopy copy{[] {}};
    TreeMemory memory = copy.memory();
    REQUIRE(memory.now());
    copy.kill_keeper();
    CHECK_FALSE(memory.now());
    CHECK(hpo::tests::is_alive(copy.copy()));
    memory.kill_seen();
    CHECK(hpo::test::eventually([&] { return !hpo::tests::is_alive(copy.copy()); }));
}
