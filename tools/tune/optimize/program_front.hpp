// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/process/temporary_folder.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/supervisor/process.hpp"
#include "support/json.hpp"
#include "tune/optimize/optimize_call.hpp"
#include "tune/optimize/program_connection.hpp"

namespace hpo::tune {

/// A program whose calls of `study.optimize` this process takes over. It runs in its own process. The package `hpo` for Python, which its
/// interpreter loads first, connects it to this process. Messages are lines of JSON (python/hpo/_loop/_connection.py).
///
/// Thread safety: none.
class ProgramFront {
public:
    struct Start {
        int output = -1;          ///< becomes the program's standard output; -1: ours
        bool is_look = false;     ///< no trial is to run, not even by Optuna itself: the program ends in its first call of optimize
        bool in_program = false;  ///< trials run in the program itself, which keeps the threads that it has without hpo
    };
    /// Starts the program. Throws Error if it cannot be started.
    explicit ProgramFront(const std::vector<std::string>& words) : ProgramFront{words, Start{}} {}
    ProgramFront(const std::vector<std::string>& words, const Start& start);

    /// Waits for the program's next call of optimize. Returns nullopt once the program has ended. Ctrl-C is passed on to the program.
    [[nodiscard]] std::optional<OptimizeCall> next_call();
    /// Waits until the program has ended. Returns its exit status; for one that a signal ended, 128 and the signal.
    [[nodiscard]] int wait();
    /// Ends the program now.
    void end();
    /// Ends the program where it is, in its call of optimize, with nothing that would come after. What it has printed is there.
    void end_in_call();

    /// True if the latest call of optimize was not left to Optuna. False before the first call.
    [[nodiscard]] bool runs_latest_call() const noexcept { return runs_latest_call_; }

    /// What Optuna has done itself in the program so far.
    struct ByOptuna {
        std::size_t tells = 0;           ///< of study.tell
        std::size_t optimize_calls = 0;  ///< that hpo did not run
        bool in_kernel = false;          ///< of a notebook
    };
    [[nodiscard]] ByOptuna by_optuna() const;

    /// @name During a call of optimize
    /// @{
    /// Refuses the call, with the reason. The program goes on with an error.
    void refuse(const std::string& message);
    /// Refuses the call, and lets Optuna run the study. The program tells the reason.
    void leave_to_optuna(const std::string& why);
    /// Starts the program once more up to this call, as each attempt will if the program cannot fork. Returns what went wrong, in words
    /// that follow "the program"; nullopt if it has reached the call. A failure holds for all later calls, which stand behind this one.
    /// A success does not, because what the program does between the two may fail. A start counts as failed if it takes five times as long
    /// as the program has run by now, and 20 s more.
    [[nodiscard]] std::optional<std::string> why_not_again(const OptimizeCall& call);
    /// Says which study runs the call, and waits until the program is ready for it.
    void opened(const OptimizeCall& call, const std::string& store, const std::string& study);
    /// Says that a trial has ended, and waits for the program's callbacks. Returns the constraints that the program's sampler has computed
    /// and stored, if it computes any.
    std::map<std::string, double, std::less<>> finished(const Trial& trial);
    /// Says that the call is over: done, interrupted, stopped, breaker or error.
    void ended(const std::string& why, const std::string& message);
    /// True once the program wants no further trial.
    [[nodiscard]] bool wants_stop();
    /// That the program has left the call, and how it ended. Returns nullopt while it is there.
    [[nodiscard]] std::optional<std::string> gone();
    /// How the program ended: "signal 9". Returns nullopt if it does not end within a tenth of a second.
    [[nodiscard]] std::optional<std::string> how_it_ended();
    /// The parameters that the program's own sampler draws before a trial; or, `again`, what it has drawn last for it.
    [[nodiscard]] ParamSet proposed(std::int64_t trial, bool again);
    /// The value that the program's own sampler draws for one parameter, in the internal representation. Throws NoSuggestion if it raises.
    [[nodiscard]] double drawn(std::int64_t trial, const std::string& name, const Distribution& distribution);
    /// Whether the program's own pruner ends a trial after its latest report.
    [[nodiscard]] bool prunes(std::int64_t trial);
    /// @}

    /// @name A trial that runs in the program
    /// @{
    [[nodiscard]] std::int64_t pid() const noexcept { return program_->pid(); }
    /// Lets the program run its objective, with these variables.
    void run_here(std::int64_t trial, const std::map<std::string, std::string>& environment);
    /// What the objective has said: {"op": "said", "trial": 3, "line": {...}, "asks": true}, or "end" in place of "line". Waits for at most
    /// this time.
    [[nodiscard]] std::optional<tools::Json> next_said(int timeout_ms);
    /// Answers what it has asked.
    void answer_here(const tools::Json& answer);
    /// @}

    /// What an attempt finds in its environment that forks, or runs the program anew. `store` and `study`: those that `opened` will tell.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables_of_attempts(const OptimizeCall& call, const std::string& store,
                                                                                         const std::string& study) const;

private:
    /// Waits for a message of this kind. What the program says meanwhile is heeded. Returns nullopt if the program goes.
    /// A program that does not answer soon after an interruption is ended.
    [[nodiscard]] std::optional<tools::Json> await(const char* op);
    /// The same. Throws Error if the program goes.
    [[nodiscard]] tools::Json heard(const char* op);
    /// The same for a message that may tell an error, which `whose` then begins. Throws Error for that, too.
    tools::Json answer(const char* op, const std::string& whose);
    void heed(const tools::Json& message);

    TemporaryFolder folder_{"hpo-tune"};
    std::vector<std::string> words_;  ///< of the program
    ProgramConnection connection_;
    std::optional<worker::Process> program_;
    Stopwatch since_start_;         ///< of the program
    std::deque<tools::Json> said_;  ///< by a trial that runs in the program, and not heard yet
    bool wants_stop_ = false;
    bool runs_latest_call_ = false;
    bool has_told_wait_ = false;  ///< it was said that the program takes long
    int interrupts_passed_on_ = 0;
    struct Opened {
        std::int64_t call = 0;
        std::string store, study;
    };
    /// As why_not_again, each time anew.
    [[nodiscard]] std::optional<std::string> started_again(const OptimizeCall& call);
    std::optional<std::string> why_not_again_;
    /// What the calls so far, and this one, have opened: a list with an item for each call, null for one that opened nothing.
    [[nodiscard]] std::string opened_text(const OptimizeCall& call, const std::optional<Opened>& now) const;
    /// What the program finds in its environment if it is started again up to this call.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables_of_new_start(const OptimizeCall& call,
                                                                                          const std::optional<Opened>& now) const;
    std::vector<Opened> studies_;  ///< of the calls so far
};

/// The pruner of a program, which goes on judging there.
class ProgramPruner {
public:
    explicit ProgramPruner(ProgramFront& front) : front_{&front} {}
    [[nodiscard]] Verdict judge(const PruneQuery& query) const;

private:
    ProgramFront* front_;
};

/// The sampler of a program, which goes on choosing there.
class ProgramSampler {
public:
    explicit ProgramSampler(ProgramFront& front) : front_{&front} {}
    [[nodiscard]] double suggest(const Ask& ask);
    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng);

private:
    ProgramFront* front_;
};

}  // namespace hpo::tune
