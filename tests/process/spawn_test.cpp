// SPDX-License-Identifier: MIT
#include "process/spawn.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hpo/process/after_fork.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using hpo::SpawnSpec;

namespace {

constexpr const char* variables = "PATH=/usr/bin:/bin";

/// From now on close_range fails with this error in this process, as in an older kernel (ENOSYS) or in a sandbox (EPERM).
void refuse_close_range(int error) {
    std::array<sock_filter, 4> rules{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_close_range},
                                      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)},
                                      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
    const sock_fprog filter{static_cast<unsigned short>(rules.size()), rules.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        throw std::runtime_error{"no seccomp"};
    if (::syscall(SYS_close_range, 5000, 5000, 0) == 0 || errno != error) throw std::runtime_error{"close_range was not refused"};
}

std::string all_of(int input) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::read(input, buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), size);
    return text;
}

/// Runs a script of the shell, and returns what it writes to its standard output and how it ends: "text (status 0)".
std::string said(SpawnSpec spec, const std::string& script) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
    spec.program = "/bin/sh";
    spec.arguments = {"-c", script, "sh", "word"};
    spec.environment = {variables};
    if (spec.descriptors.empty()) spec.descriptors = {SpawnSpec::null_device, ends[1], SpawnSpec::inherited};
    else spec.descriptors[1] = ends[1];
    const pid_t child = hpo::spawn(spec);
    const int error = errno;
    ::close(ends[1]);
    const std::string text = all_of(ends[0]);
    ::close(ends[0]);
    if (child < 0) return std::string{"error: "} + ::strerror(error);
    int status = 0;
    ::waitpid(child, &status, 0);
    return text + "(status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)) + ")";
}

/// The open descriptors of this process, sorted.
std::vector<int> open_numbers() {
    std::vector<int> all;
    const int folder = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hpo::for_each_number_in(folder, [&](const char* name) {
        if (hpo::number_named(name) != folder) all.push_back(hpo::number_named(name));
    });
    ::close(folder);
    std::sort(all.begin(), all.end());
    return all;
}

constexpr int answer_descriptor = 500;

/// What `work` returns in a forked process whose descriptors are 0, 1, 2 and the one above.
template <class Work>
std::string in_child(Work&& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error{"no pipe"};
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], answer_descriptor);
        for (const int number : open_numbers()) {
            if (number > STDERR_FILENO && number != answer_descriptor) ::close(number);
        }
        std::string text;
        try {
            text = work();
        } catch (const std::exception& error) {
            text = error.what();
        }
        ::_exit(::write(answer_descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    const std::string text = all_of(ends[0]);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return text;
}

std::string error_of(const std::string& program) {
    const pid_t child = hpo::spawn({.program = program, .environment = {variables}});
    if (child < 0) return ::strerror(errno);
    ::waitpid(child, nullptr, 0);
    return "started";
}

/// What posix_spawnp makes of it.
std::string error_of_the_c_library(const std::string& program) {
    std::array<char*, 2> words{const_cast<char*>(program.c_str()), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, program.c_str(), nullptr, nullptr, words.data(), environ);
    if (error != 0) return ::strerror(error);
    ::waitpid(child, nullptr, 0);
    return "started";
}

}  // namespace

TEST_CASE("a spawned program has the words, the variables and the folder of its spec, and a group of its own") {
    CHECK(said({}, "echo \"$0 $1\"; env | grep -v ^PWD; exit 3") == "sh word\nPATH=/usr/bin:/bin\n(status 3)");  // PWD is the shell's
    CHECK(said({.folder = "/proc"}, "pwd") == "/proc\n(status 0)");
    CHECK(said({.folder = "/nonexistent"}, "pwd") == "error: No such file or directory");
    const std::string ids = "set -- $(cut -d ' ' -f 5,6 /proc/$$/stat); [ $1 = $$ ] && echo group; [ $2 = $$ ] && echo session; true";
    CHECK(said({}, ids) == "group\n(status 0)");
    CHECK(said({.group = SpawnSpec::Group::own_session}, ids) == "group\nsession\n(status 0)");
}

TEST_CASE("a spawned program has the descriptors of its spec and no others, also where close_range is refused") {
    const int refused = GENERATE(0, ENOSYS, EPERM);
    const hpo::tests::TemporaryDirectory home;
    hpo::test::write_file(home.file("one"), "one");
    hpo::test::write_file(home.file("two"), "two");
    const std::string told = in_child([&] {
        if (refused != 0) refuse_close_range(refused);
        // Each source is the number that the other one becomes.
        ::dup2(::open(home.file("one").c_str(), O_RDONLY), 3);
        ::dup2(::open(home.file("two").c_str(), O_RDONLY), 4);
        ::fcntl(3, F_DUPFD, 900);
        const rlimit limit{100, 100};  // descriptors above it stay open
        ::setrlimit(RLIMIT_NOFILE, &limit);
        const std::vector<int> before = open_numbers();
        const std::string few = said({}, "echo $(ls /proc/self/fd)");
        const std::string crossed = said({.descriptors = {SpawnSpec::null_device, 0, SpawnSpec::inherited, 4, 3}},
                                         "readlink /proc/$$/fd/0; cat <&3; cat <&4; echo; ls /proc/$$/fd | wc -l");
        return few + crossed + (open_numbers() == before ? "the same here" : "different here");
    });
    CHECK(told == "0 1 2 3\n(status 0)/dev/null\ntwoone\n5\n(status 0)the same here");  // the first 3 is the folder that ls reads
}

TEST_CASE("close_all_but keeps what it should, also where close_range is refused and every number is taken") {
    const int refused = GENERATE(0, ENOSYS, EPERM);
    const std::string told = in_child([&] {
        if (refused != 0) refuse_close_range(refused);
        const rlimit limit{64, 64};
        ::setrlimit(RLIMIT_NOFILE, &limit);
        while (::dup(0) >= 0) {
        }
        const std::vector<int> kept{0, 1, 40, 63, answer_descriptor};
        if (!hpo::close_all_but(kept)) return std::string{::strerror(errno)};
        return std::string{open_numbers() == kept ? "right" : "wrong"};
    });
    CHECK(told == "right");
}

TEST_CASE("a program is looked for as posix_spawnp does") {
    const hpo::tests::TemporaryDirectory home;
    for (const char* folder : {"denied", "plain", "later"}) std::filesystem::create_directory(home.path() / folder);
    const auto add = [&](const std::string& name, const std::string& text, mode_t mode) {
        hpo::test::write_file(home.path() / name, text);
        ::chmod(home.file(name).c_str(), mode);
    };
    add("denied/one", "#!/bin/sh\n", 0600);
    add("denied/two", "#!/bin/sh\n", 0600);
    add("later/two", "#!/bin/sh\nexit 0\n", 0700);
    add("plain/three", "exit 0\n", 0700);  // no line that names a shell
    add("plain/four", "#!/nonexistent\n", 0700);
    const std::string before = ::getenv("PATH");
    const std::string here = home.path().string();
    ::setenv("PATH", (here + "/denied:" + here + "/denied/one:/nonexistent:" + here + "/plain:" + here + "/later").c_str(), 1);
    std::vector<std::array<std::string, 3>> different;
    for (const std::string& program :
         {std::string{"one"}, std::string{"two"}, std::string{"three"}, std::string{"four"}, std::string{"five"}, std::string{},
          here + "/denied/one", here + "/later/two", here, std::string(5000, 'x')}) {
        const std::string ours = error_of(program);
        const std::string expected = error_of_the_c_library(program);
        if (ours != expected) different.push_back({program, ours, expected});
    }
    const std::string denied = error_of("one");
    const std::string started = error_of("two");
    ::unsetenv("PATH");
    const std::string usual = error_of("true");
    ::setenv("PATH", before.c_str(), 1);
    CHECK(different.empty());
    CHECK(denied == "Permission denied");
    CHECK(started == "started");
    CHECK(usual == "started");
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, not even as a zombie
}

TEST_CASE("a spawned program has all signals as usual, and spawning changes nothing here") {
    const auto before = ::signal(SIGUSR1, SIG_IGN);
    sigset_t blocked;
    sigset_t old;
    sigset_t now;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
    const std::string signals = said({}, "grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'");
    ::pthread_sigmask(SIG_SETMASK, &old, &now);
    CHECK(signals == "SigBlk:0000000000000000\nSigIgn:0000000000000000\n(status 0)");
    CHECK(::signal(SIGUSR1, before) == SIG_IGN);
    CHECK(sigismember(&now, SIGUSR2) == 1);
    CHECK(sigismember(&now, SIGUSR1) == 0);
}

TEST_CASE("threads can spawn at the same time") {
    std::array<std::string, 4> texts;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < texts.size(); ++t) {
        threads.emplace_back([&texts, t] {
            for (int i = 0; i < 20; ++i) texts[t] += said({}, "echo $(ls /proc/self/fd)");
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::string expected;
    for (int i = 0; i < 20; ++i) expected += "0 1 2 3\n(status 0)";
    for (const std::string& text : texts) CHECK(text == expected);
}

TEST_CASE("a program that should get a descriptor which does not exist is not started") {
    SpawnSpec spec{.program = "/bin/true"};
    spec.descriptors = {SpawnSpec::null_device, SpawnSpec::null_device, -7};
    errno = 0;
    CHECK(hpo::spawn(spec) == -1);
    CHECK(errno == EBADF);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no process is left
}
