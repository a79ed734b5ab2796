// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hpo::tests {

/// A forked child (support/command.hpp starts programs) that runs `work(write)` and ends; what it passes to `write` arrives here.
class ChildProcess {
public:
    template <class Work>
    explicit ChildProcess(Work&& work) {
        int ends[2];
        if (pipe(ends) != 0) throw std::runtime_error{"pipe failed"};
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            const auto write_line = [&](const std::string& text) {
                const std::string line = text + "\n";
                if (::write(ends[1], line.data(), line.size()) < 0) _exit(9);
            };
            try {
                work(write_line);
            } catch (const std::exception& error) {
                write_line(std::string{"error: "} + error.what());
                _exit(8);
            }
            _exit(0);
        }
        close(ends[1]);
        output_ = ends[0];
    }
    ChildProcess(ChildProcess&& other) noexcept : pid_{std::exchange(other.pid_, -1)}, output_{std::exchange(other.output_, -1)} {}
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            (void)lines();
        }
    }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Waits for the next line; empty at the end.
    [[nodiscard]] std::string line() {
        std::string text;
        for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) text += c;
        return text;
    }
    /// Waits for the end and returns the remaining lines; one that was cut off is left out.
    [[nodiscard]] std::vector<std::string> lines() {
        std::string text;
        char buffer[4096];
        for (ssize_t size = 0; (size = ::read(output_, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(size));
        close(output_);
        waitpid(std::exchange(pid_, -1), &status_, 0);
        std::vector<std::string> all;
        for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
            all.push_back(text.substr(begin, end - begin));
        }
        return all;
    }
    [[nodiscard]] int status() const { return status_; }

private:
    pid_t pid_ = -1;
    int output_ = -1;
    int status_ = 0;
};

}  // namespace hpo::tests
