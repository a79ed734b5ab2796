// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/worker/descriptor.hpp"

namespace hpo::tune {

/// How a process that ran the study ended.
struct RunEnd {
    std::optional<int> signal;
    int status = 0;  ///< if there was no signal

    /// "was ended by SIGKILL", "could not use its store".
    [[nodiscard]] std::string words() const;
    /// The status with which a shell would tell it; 3 for a store that could not be used.
    [[nodiscard]] int shell_status() const;
    /// True if the same command may well go on: a signal ended the process, or its store could not be used for a time.
    [[nodiscard]] bool can_go_on() const;
};

/// Decides whether a run is started again, and when.
class RestartRule {
public:
    struct Settings {
        std::chrono::milliseconds first_pause{1'000};  ///< doubles with each restart
        std::chrono::milliseconds longest_pause{300'000};
        std::chrono::milliseconds long_life{600'000};  ///< after such a life the pauses begin anew
        int most_in_vain = 10;                         ///< restarts in a row after which no trial finished
    };
    explicit RestartRule(const Settings& settings) : settings_{settings} {}

    /// The pause before the next start. Returns nullopt if there have been too many restarts in vain.
    [[nodiscard]] std::optional<std::chrono::milliseconds> after(std::chrono::milliseconds life, bool has_finished_trials);
    [[nodiscard]] int in_vain() const noexcept { return in_vain_; }

private:
    Settings settings_;
    std::chrono::milliseconds pause_{0};  ///< the latest; 0: none
    int in_vain_ = 0;
};

/// The process behind `hpo-tune run --supervise`. It runs the same command as a child, and starts it again if it ends before its time. It
/// reads neither the script, the store nor the device, so what breaks the run does not break this process.
///
/// The child dies with this process, by the kernel (PR_SET_PDEATHSIG). It has a file to which it adds a byte for each finished trial.
class Supervisor {
public:
    struct Settings {
        std::vector<std::string> words;  ///< of this command line, without the program
        RestartRule::Settings restarts{};
        std::function<void(const std::string&)> tell;      ///< is told each restart
        std::function<void(const std::string&)> tell_end;  ///< is told why there are no more
    };

    /// Throws Error if the file for the finished trials cannot be made.
    explicit Supervisor(Settings settings);

    /// Runs the study. Returns the exit status of its last run, or 130 if a signal ended this process.
    [[nodiscard]] int run();

private:
    [[nodiscard]] pid_t start(const std::string& why) const;
    /// Waits for the child, and passes on signals meanwhile.
    [[nodiscard]] RunEnd wait(pid_t child);
    /// Waits for a signal, at most so long. Returns nullopt if there was none.
    [[nodiscard]] std::optional<siginfo_t> next_signal(std::chrono::milliseconds most) const;
    /// Takes in a signal. Passes it on to `child`, if that is above 0.
    void take(const siginfo_t& signal, pid_t child);
    [[nodiscard]] std::int64_t finished_trials() const;

    Settings settings_;
    std::string program_;
    worker::Descriptor finished_;
    sigset_t watched_{};
    sigset_t before_{};
    bool stopping_ = false;
    bool ignores_hangup_ = false;  ///< under nohup
};

/// The status with which a supervised run tells its supervisor that the store could not be used: the same command may go on later.
inline constexpr int store_unavailable_status = 75;

/// What a supervised run is given by its supervisor.
struct Supervised {
    int finished_file = -1;  ///< a descriptor; below 0: this run has no supervisor
    std::string restarted;   ///< why the run before ended; empty: this is the first

    [[nodiscard]] bool has_supervisor() const noexcept { return finished_file >= 0; }
    /// Tells the supervisor of a finished trial.
    void trial_finished() const;
    /// How many the supervisor has been told of, by this run and those before. 0 without one.
    [[nodiscard]] std::int64_t finished_trials() const;
};

/// The words of a command line for the child: `--supervise` becomes what a supervised run is given.
[[nodiscard]] std::vector<std::string> supervised_words(std::vector<std::string> words, const Supervised& given);

}  // namespace hpo::tune
