// SPDX-License-Identifier: MIT
#include "kept_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "fork_request.hpp"
#include "hpo/base/error.hpp"
#include "hpo/process/after_fork.hpp"
#include "pipes.hpp"
#include "process_parent.hpp"

namespace hpo::command {
namespace {

using hpo::worker::Descriptor;
using hpo::worker::system_failure;

// Small numbers, because dash redirects only to single digits.
constexpr int report_descriptor = 3;
constexpr int answer_descriptor = 4;

/// What the keeper tells: that the program began, or how it ended. python/hpo/_forking/_keeper.py writes the same.
struct News {
    pid_t program;
    int wait_status;             ///< in the first message of a forked keeper: its own process id
    std::int64_t peak_resident;  ///< bytes; of a forked program: what it has grown by, or -1 if it was ended because its parent has gone
    std::int64_t ended_at;       ///< nanoseconds of CLOCK_MONOTONIC; 0: it runs, or was killed with the keeper's other children
};

std::int64_t monotonic_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Between fork and exec of a process with threads, only functions that are safe in a signal handler may be called. So nothing below takes
// memory.

void write_all(int to, const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t written = ::write(to, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        at += written;
        size -= static_cast<std::size_t>(written);
    }
}

/// Reads exactly `size` bytes; false at the end of the stream.
bool read_all(int from, void* data, std::size_t size) {
    char* at = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t got = ::read(from, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

/// Kills every child of this process.
void kill_children() {
    const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0) return;
    const pid_t self = ::getpid();
    hpo::for_each_number_in(proc, [&](const char* name) {
        std::array<char, 64> path{};
        const std::size_t length = ::strlen(name);
        if (length + 6 > path.size()) return;
        ::memcpy(path.data(), name, length);
        ::memcpy(path.data() + length, "/stat", 6);
        const int file = ::openat(proc, path.data(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        std::array<char, 256> stat;
        const ssize_t size = ::read(file, stat.data(), stat.size());
        ::close(file);
        if (size > 0 && parent_in({stat.data(), static_cast<std::size_t>(size)}) == self) ::kill(hpo::number_named(name), SIGKILL);
    });
    ::close(proc);
}

/// Kills and reaps children until there are none. The children of a killed one become children of this process, which adopts.
template <class Reaped>
void end_children(Reaped&& reaped) {
    for (timespec pause{0, 200'000};;) {
        int status = 0;
        struct rusage usage {};
        pid_t gone = 0;
        while ((gone = ::wait4(-1, &status, WNOHANG, &usage)) > 0) reaped(gone, status, usage);
        if (gone < 0 && errno != EINTR) return;
        kill_children();
        ::nanosleep(&pause, nullptr);
        pause.tv_nsec = std::min(pause.tv_nsec * 2, 20'000'000L);
    }
}

/// What the program's process needs. Made before the fork.
struct Prepared {
    std::vector<char*> words, environment;
    int output, error_output, reports, answers, exec_error;
};

[[noreturn]] void become_program(const Prepared& prepared, pid_t keeper) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper) ::_exit(127);
    const int null = ::open("/dev/null", O_RDONLY);
    // First above all the numbers that are wanted, so that none is overwritten before it is moved.
    std::array moved{null, prepared.output, prepared.error_output, prepared.reports, prepared.answers};
    for (int& each : moved) each = ::fcntl(each, F_DUPFD_CLOEXEC, 100);
    const int exec_error = ::fcntl(prepared.exec_error, F_DUPFD_CLOEXEC, 100);
    for (int i = 0; i < static_cast<int>(moved.size()); ++i) ::dup2(moved[static_cast<std::size_t>(i)], i);
    const std::array kept{0, 1, 2, report_descriptor, answer_descriptor, exec_error};
    if (hpo::close_all_but(kept)) {
        for (int number = 1; number < NSIG; ++number) {
            if (number != SIGKILL && number != SIGSTOP) ::signal(number, SIG_DFL);
        }
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::execvpe(prepared.words.front(), prepared.words.data(), prepared.environment.data());
    }
    const int error = errno;
    write_all(exec_error, &error, sizeof error);
    ::_exit(127);
}

[[noreturn]] void become_keeper(const Prepared& prepared, int news, int life) {
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_NAME, "hpo-keeper");
    ::prctl(PR_SET_PDEATHSIG, SIGCONT);  // somebody may have stopped it; it goes on, and ends the program
    for (int number = 1; number < NSIG; ++number) {
        if (number != SIGKILL && number != SIGSTOP && number != SIGCHLD) ::signal(number, SIG_IGN);
    }
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t child_ends;
    ::sigemptyset(&child_ends);
    ::sigaddset(&child_ends, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &child_ends, nullptr);
    const int signals = ::signalfd(-1, &child_ends, SFD_CLOEXEC | SFD_NONBLOCK);
    const pid_t self = ::getpid();
    const pid_t program = ::fork();
    if (program == 0) become_program(prepared, self);
    if (program < 0) {
        const int error = errno;
        write_all(prepared.exec_error, &error, sizeof error);
    }
    std::array kept{news, life, signals};
    std::sort(kept.begin(), kept.end());
    hpo::close_all_but(kept);  // if it cannot, neither can the program's process, and that one reports it
    News told{program, 0, 0, 0};
    write_all(news, &told, sizeof told);
    bool ended = program < 0;
    const auto reaped = [&](pid_t gone, int status, const struct rusage& usage) {
        if (gone != program) return;
        ended = true;
        told.wait_status = status;
        told.peak_resident = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
        told.ended_at = monotonic_now();
    };
    while (!ended) {
        std::array<pollfd, 2> watched{{{signals, POLLIN, 0}, {life, POLLIN, 0}}};
        ::poll(watched.data(), watched.size(), -1);
        if (watched[1].revents != 0) break;  // nobody holds the other end any more
        std::array<char, sizeof(signalfd_siginfo)> ignored;
        while (::read(signals, ignored.data(), ignored.size()) > 0) {
        }
        int status = 0;
        struct rusage usage {};
        for (pid_t gone = 0; !ended && (gone = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) reaped(gone, status, usage);
    }
    end_children(reaped);
    write_all(news, &told, sizeof told);
    ::_exit(0);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts)
        all.push_back(const_cast<char*>(text.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): exec
    all.push_back(nullptr);
    return all;
}

void make_nonblocking(int descriptor) { ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

}  // namespace

KeptProgram::KeptProgram(const ProgramStart& start) {
    if (start.fork_socket.empty()) this->start(start);
    else fork_from(start);
    for (const Descriptor* each : {&output_, &error_output_, &reports_, &answers_}) make_nonblocking(each->get());
}

void KeptProgram::start(const ProgramStart& start) {
    Pipes pipes;
    Pipe exec_error = Pipe::make();
    hpo::worker::Environment environment = start.environment;
    hpo::worker::set_variable(environment, "HPO_REPORT_FD", std::to_string(report_descriptor));
    hpo::worker::set_variable(environment, "HPO_ANSWER_FD", std::to_string(answer_descriptor));
    const Prepared prepared{.words = pointers(start.words),
                            .environment = pointers(environment),
                            .output = pipes.output.write.get(),
                            .error_output = pipes.error_output.write.get(),
                            .reports = pipes.reports.write.get(),
                            .answers = pipes.answers.read.get(),
                            .exec_error = exec_error.write.get()};
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // should somebody kill the keeper
    keeper_ = ::fork();
    if (keeper_ == 0) become_keeper(prepared, pipes.news.write.get(), pipes.life.read.get());
    if (keeper_ < 0) throw system_failure("command: cannot start a process");
    take(pipes);
    exec_error.write = Descriptor{};
    int error = 0;
    const bool failed = read_all(exec_error.read.get(), &error, sizeof error);
    News begun{};
    if (!failed && read_all(news_.get(), &begun, sizeof begun)) program_ = begun.program;
    if (failed || program_ <= 0) {
        life_ = Descriptor{};
        await_keeper();
        throw hpo::Error{hpo::Errc::bad_value, "the program '" + start.words.front() +
                                                   "' cannot be started: " + (failed ? std::strerror(error) : "its keeper was killed") +
                                                   (failed && error == ENOENT ? "; it was looked for in PATH" : "")};
    }
}

void KeptProgram::fork_from(const ProgramStart& start) {
    constexpr int most_milliseconds = 600'000;  // the program may be busy with what it does between its trials
    Pipes pipes;
    request_fork(start.fork_socket, start.environment,
                 {.output = pipes.output.write.get(),
                  .error_output = pipes.error_output.write.get(),
                  .reports = pipes.reports.write.get(),
                  .answers = pipes.answers.read.get(),
                  .news = pipes.news.write.get(),
                  .life = pipes.life.read.get()});
    take(pipes);
    is_forked_ = true;
    pollfd told{news_.get(), POLLIN, 0};
    const bool in_time = ::poll(&told, 1, most_milliseconds) > 0;
    News begun{};
    if (!in_time || !read_all(news_.get(), &begun, sizeof begun) || begun.program <= 0) {
        throw hpo::Error{hpo::Errc::plugin,
                         std::string{"the program that calls optimize could not fork a child: it "} +
                             (in_time ? "has no memory or no process left, or it has ended" : "did not answer within 10 minutes")};
    }
    program_ = begun.program;
    keeper_ = begun.wait_status;
}

void KeptProgram::take(Pipes& pipes) {
    output_ = std::move(pipes.output.read);
    error_output_ = std::move(pipes.error_output.read);
    reports_ = std::move(pipes.reports.read);
    answers_ = std::move(pipes.answers.write);
    news_ = std::move(pipes.news.read);
    life_ = std::move(pipes.life.write);
    for (Pipe* pipe : {&pipes.output, &pipes.error_output, &pipes.reports, &pipes.answers, &pipes.news, &pipes.life}) {
        pipe->write = Descriptor{};
        pipe->read = Descriptor{};
    }
}

KeptProgram::~KeptProgram() {
    life_ = Descriptor{};
    if (keeper_ > 0) await_keeper();
}

void KeptProgram::await_keeper() noexcept {
    if (!is_forked_) {
        ::waitpid(keeper_, nullptr, 0);
    } else {  // it holds the other end of news_ until it has ended all
        News told{};
        while (read_all(news_.get(), &told, sizeof told)) {
        }
    }
    keeper_ = -1;
}

void KeptProgram::answer(const std::string& line) noexcept {
    const ssize_t ignored = ::write(answers_.get(), line.data(), line.size());
    static_cast<void>(ignored);
}

void KeptProgram::signal(int number) const noexcept { ::kill(-program_, number); }

ProgramEnd KeptProgram::wait() {
    News told{};
    const bool heard = read_all(news_.get(), &told, sizeof told);
    life_ = Descriptor{};
    await_keeper();
    if (!heard) {
        if (is_forked_) signal(SIGKILL);  // the descendants are no children of this process
        else end_children([](pid_t, int, const struct rusage&) {});
        ProgramEnd end;
        end.keeper_was_killed = true;
        return end;
    }
    ProgramEnd end;
    if (WIFEXITED(told.wait_status)) end.status = WEXITSTATUS(told.wait_status);
    else end.signal = WTERMSIG(told.wait_status);
    if (told.peak_resident > 0) end.peak_resident = told.peak_resident;
    end.was_orphaned = told.peak_resident < 0;
    if (told.ended_at > 0) end.idle_seconds = std::max(0.0, static_cast<double>(monotonic_now() - told.ended_at) / 1e9);
    return end;
}

}  // namespace hpo::command
