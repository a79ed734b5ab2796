// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/process.hpp"

#include <elf.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "hpo/trainer/plugin_abi.hpp"
#include "hpo/worker/supervisor/attempt_end.hpp"
#include "hpo/worker/supervisor/describe.hpp"
#include "hpo/worker/supervisor/oom_killer.hpp"
#include "support/catch.hpp"
#include "support/pool.hpp"

using namespace hpo;
using namespace hpo::test;
using worker::Process;

namespace {

worker::ProcessExit shell(const std::string& script, const worker::LogFile& log) {
    return Process::start({.program = "/bin/sh",
                           .arguments = {"-c", script},
                           .environment = {"PATH=/usr/bin:/bin", "NAME=value"},
                           .output = log.descriptor(),
                           .errors = log.descriptor()})
        .wait();
}

}  // namespace

TEST_CASE("a process has the environment, descriptors and standard input that it was given, and no others") {
    const worker::LogFile log{""};
    const worker::Descriptor leaky{::open("/dev/null", O_RDONLY)};  // without O_CLOEXEC
    CHECK(shell("echo $NAME; cat; ls /proc/self/fd | wc -l; echo complaint >&2; exit 7", log).status == 7);
    CHECK(log.tail() == "value\n4\ncomplaint\n");  // 0, 1, 2 and the folder that ls reads
}

TEST_CASE("signals that this process ignores or blocks are as usual in a process that it starts") {
    const auto before = std::signal(SIGTERM, SIG_IGN);
    sigset_t blocked;
    sigset_t old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
    auto process = Process::start({.program = "/bin/sleep", .arguments = {"60"}});
    process.signal(SIGTERM);
    const auto exit = process.wait(5000ms);
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    std::signal(SIGTERM, before);
    REQUIRE(exit);
    CHECK(exit->signal == SIGTERM);
}

TEST_CASE("what a process started goes with it") {
    const worker::LogFile log{""};
    CHECK(shell("sleep 60 & echo $!; exit 0", log).status == 0);
    const std::int64_t grandchild = std::stoll(log.tail());
    CHECK(eventually([&] { return !lives(grandchild); }));
}

TEST_CASE("a process that goes out of scope is killed and reaped") {
    pid_t pid = 0;
    {
        auto process = Process::start({.program = "/bin/sleep", .arguments = {"60"}});
        pid = process.pid();
        CHECK_FALSE(process.exit());
        CHECK_FALSE(process.wait(20ms));
        CHECK(lives(pid));
    }
    CHECK_FALSE(lives(pid));
    CHECK(children().empty());
}

TEST_CASE("a program that is not there is an error that names it") {
    const auto before = open_descriptors();
    CHECK_THROWS_WITH(Process::start({.program = "/nonexistent"}), "/nonexistent: cannot be started: No such file or directory");
    CHECK_THROWS_WITH(Process::start({.program = "/etc/passwd"}), "/etc/passwd: cannot be started: Permission denied");
    CHECK_THROWS_WITH(Process::start({.program = "no-such-program"}), "no-such-program: cannot be started: No such file or directory");
    CHECK(Process::start({.program = "true", .environment = worker::inherited_environment()}).wait().status == 0);
    CHECK(open_descriptors() == before);
    CHECK(children().empty());
}

TEST_CASE("the tail of an attempt's output begins with a line") {
    worker::LogFile log{""};
    CHECK(shell("echo of the attempt before", log).status == 0);
    log.begin_attempt();
    CHECK(log.tail().empty());
    CHECK(shell("seq 1000 2000", log).status == 0);
    CHECK(log.tail(13) == "1999\n2000\n");
    CHECK(log.tail(100'000).starts_with("1000\n1001\n"));
    CHECK(shell("printf '%050d\n' 7", log).status == 0);
    CHECK(log.tail(5) == "0007\n");  // of a line that is longer than the tail, its end
    CHECK_THROWS_WITH(worker::LogFile{"/nonexistent/x.log"}, Catch::Contains("/nonexistent/x.log: cannot keep a worker's output"));
}

TEST_CASE("of a long output of an attempt the beginning and the end are read, and the rest is counted") {
    worker::LogFile log{""};
    CHECK(shell("echo of the attempt before", log).status == 0);
    log.begin_attempt();
    CHECK(shell("seq 100001 130000", log).status == 0);  // 210,000 bytes: more than two limits of 64 KiB
    const std::string text = log.attempt_text();
    CHECK(text.starts_with("100001\n100002\n"));
    CHECK(text.ends_with("\n129999\n130000\n"));
    const std::string note = " bytes left out]\n";
    const auto at = text.find(note);
    REQUIRE(at != std::string::npos);
    const auto begin = text.rfind('[', at);
    const std::size_t left_out = std::stoul(text.substr(begin + 1));
    const std::size_t end = text.size() - at - note.size();
    CHECK(end > 47'000);
    CHECK(end <= 48U << 10U);
    CHECK((16U << 10U) + left_out + end == 210'000);
}

TEST_CASE("the kernel's count of out-of-memory kills is found in each of its files") {
    const auto count = [](const char* text) {
        std::istringstream in{text};
        return worker::oom_kills_in(in);
    };
    CHECK(count("nr_free_pages 12\noom_kill 3\npgfault 9\n") == 3);
    CHECK(count("low 0\nhigh 0\nmax 5\noom 2\noom_kill 2\noom_group_kill 0\n") == 2);
    CHECK(count("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n") == 7);
    CHECK(count("") == std::nullopt);
    const auto kills = worker::oom_kills();
    REQUIRE(kills);  // Linux counts them since 4.13
    CHECK(*kills >= 0);
    CHECK(worker::oom_killed_since(*kills - 1) == true);
    CHECK(worker::oom_killed_since(std::int64_t{1} << 60) == false);
    CHECK(worker::oom_killed_since(std::nullopt) == std::nullopt);
}

TEST_CASE("a SIGKILL is the host's memory only when the kernel says so") {
    worker::Death death{.exit = {.signal = SIGKILL}, .host_memory_was_short = true};
    CHECK(worker::explain_death(death).kind == FailureKind::host_out_of_memory);
    death.host_memory_was_short = false;
    CHECK(worker::explain_death(death).kind == FailureKind::crash);
}

TEST_CASE("plugins are described without being loaded here, and a bad one costs its own entry") {
    const auto answer =
        worker::describe_plugins({.worker_program = HPO_BINARY_DIR "/bin/hpo-worker",
                                  .plugin_folders = {HPO_BINARY_DIR "/tests/trainers", HPO_BINARY_DIR "/tests/bad_trainers"}});
    CHECK(answer.plugin_abi == abi::version);
    CHECK(answer.folders.size() >= 3);
    const auto named = [&](const std::string& name) {
        for (const auto& plugin : answer.plugins) {
            if (plugin.name == name) return plugin;
        }
        return worker::PluginDescription{};
    };
    REQUIRE(named("fault").info);
    CHECK(named("fault").info->parameters.size() == 8);
    CHECK_THAT(named("other_abi").error.value_or(""), Catch::Contains("built for plugin ABI 1; this program has plugin ABI 2"));
    CHECK_THAT(named("crashes_on_load").error.value_or(""), Catch::Contains("signal 6"));
    CHECK(named("some_libtorch").info->libtorch_version == "1.13.1");
    CHECK(named("other_libtorch").info->libtorch_version == "2.11.0");

    const auto missing = worker::describe_plugins({.worker_program = HPO_BINARY_DIR "/bin/hpo-worker", .trainer = "nope"});
    REQUIRE(missing.plugins.size() == 1);
    CHECK_THAT(missing.plugins[0].error.value_or(""), Catch::Contains("no libhpo_trainer_nope.so"));
    CHECK_THROWS_WITH(worker::describe_plugins({.worker_program = "/bin/false"}), Catch::Contains("/bin/false --describe: status 1"));
}

namespace {

std::string described_error(const worker::DescriptionRequest& request) {
    const auto answer = worker::describe_plugins(request);
    REQUIRE(answer.plugins.size() == 1);
    CHECK_FALSE(answer.plugins[0].info);
    return answer.plugins[0].error.value_or("");
}

/// How much of a library's file is loaded into memory. Debug information comes after that, and a library loads without it.
std::uintmax_t loaded_bytes(const std::filesystem::path& library) {
    std::ifstream file{library, std::ios::binary};
    Elf64_Ehdr head{};
    file.read(reinterpret_cast<char*>(&head), sizeof head);
    file.seekg(static_cast<std::streamoff>(head.e_phoff));
    std::uintmax_t end = 0;
    Elf64_Phdr segment{};
    for (int i = 0; i < head.e_phnum && file.read(reinterpret_cast<char*>(&segment), sizeof segment); ++i) {
        if (segment.p_type == PT_LOAD) end = std::max<std::uintmax_t>(end, segment.p_offset + segment.p_filesz);
    }
    return end;
}

/// The only child of a process, once it has one; 0 when that takes too long.
std::int64_t child_of(std::int64_t pid) {
    const std::string name = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
    std::int64_t child = 0;
    return eventually([&] { return static_cast<bool>(std::ifstream{name} >> child); }) ? child : 0;
}

}  // namespace

TEST_CASE("a plugin that hangs is an error that names its file and where it hangs") {
    for (const auto& [name, where] : {std::pair{"hangs_on_load", "while its library was loaded"},
                                      std::pair{"hangs_in_constructor", "in its trainer's constructor or info()"}}) {
        const std::string error = described_error({.worker_program = HPO_BINARY_DIR "/bin/hpo-worker",
                                                   .plugin_folders = {HPO_BINARY_DIR "/tests/hanging_trainers"},
                                                   .trainer = name,
                                                   .plugin_timeout = 5000ms});
        CHECK(error ==
              std::string{HPO_BINARY_DIR "/tests/hanging_trainers/libhpo_trainer_"} + name + ".so: no answer within 5 s, " + where);
    }
}

TEST_CASE("a plugin that hangs while it is described dies with whoever asked, however it dies") {
    auto asked = Process::start({.program = HPO_BINARY_DIR "/bin/hpo-worker",
                                 .arguments = {"--parent", std::to_string(::getpid()), "--plugin-dir",
                                               HPO_BINARY_DIR "/tests/hanging_trainers", "--describe", "hangs_in_constructor"},
                                 .environment = worker::inherited_environment()});
    const std::int64_t loader = child_of(asked.pid());
    REQUIRE(loader > 0);
    REQUIRE(lives(loader));
    std::this_thread::sleep_for(200ms);  // the test is sharper once the loader hangs, and holds before it
    ::kill(asked.pid(), SIGKILL);
    CHECK(eventually([&] { return !lives(loader); }));

    auto orphan = Process::start(
        {.program = HPO_BINARY_DIR "/bin/hpo-worker",
         .arguments = {"--parent", "1", "--plugin-dir", HPO_BINARY_DIR "/tests/hanging_trainers", "--describe", "hangs_in_constructor"},
         .environment = worker::inherited_environment()});
    CHECK(orphan.wait(20'000ms));
}

TEST_CASE("errors name the file of a plugin that crashes or is cut off, and one that prints is described") {
    const std::string bad = HPO_BINARY_DIR "/tests/bad_trainers";
    worker::DescriptionRequest request{.worker_program = HPO_BINARY_DIR "/bin/hpo-worker", .plugin_folders = {bad}};
    request.trainer = "crashes_on_load";
    CHECK_THAT(described_error(request),
               Catch::StartsWith(bad + "/libhpo_trainer_crashes_on_load.so: signal 6, while its library was loaded"));
    request.trainer = "prints";
    const auto printing = worker::describe_plugins(request);
    REQUIRE(printing.plugins.size() == 1);
    CHECK(printing.plugins[0].info);

    const auto folder = std::filesystem::temp_directory_path() / ("hpo_cut_plugin_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto file = folder / "libhpo_trainer_cut.so";
    request.plugin_folders = {folder};
    request.trainer = "cut";
    std::filesystem::copy_file(bad + "/libhpo_trainer_prints.so", file);
    const std::uintmax_t loaded = loaded_bytes(file);
    REQUIRE(loaded > 1000);
    for (std::uintmax_t size = loaded / 2; size > 0; size /= 8) {
        CAPTURE(size);
        std::filesystem::resize_file(file, size);
        CHECK_THAT(described_error(request), Catch::StartsWith(file.string() + ": "));
    }
    std::filesystem::remove_all(folder);
}
