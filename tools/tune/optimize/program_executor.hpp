// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command/program_lines.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/attributes.hpp"
#include "hpo/trainer/executor.hpp"
#include "tune/optimize/program_front.hpp"

namespace hpo::tune {

/// Runs attempts inside of the program that has called optimize, one at a time (--isolation none). Nothing limits them, and nothing
/// measures their memory. An attempt that ends the process ends the study.
///
/// Thread safety: none.
class ProgramExecutor final : public Executor {
public:
    ProgramExecutor(ProgramFront& front, std::string metric, std::size_t objectives)
        : front_{front}, metric_{std::move(metric)}, objectives_{objectives} {}

    [[nodiscard]] std::size_t free_slots() const override { return running_ ? 0 : 1; }
    void submit(const Job& job, ExecutorEvents& events) override;
    void wait(ExecutorEvents& events, double timeout_seconds) override;
    /// Tells the running attempt to end, with the answer to its next question. One that asks nothing runs to its end, because only the
    /// program could end it.
    void interrupt() override { interrupted_ = true; }
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return std::nullopt; }

private:
    /// What the attempt has said so far.
    struct Running {
        std::int64_t trial = 0;
        Stopwatch watch{};
        Attributes attributes{};
        std::map<std::string, double, std::less<>> constraints{};
        std::vector<double> values{};
        bool pruned = false;
        std::string prune_reason{};
        bool should_stop = false;
        bool heard_verdict = false;
        std::string first_unread{};  ///< what is wrong with the first line that cannot be read
    };

    void hear(const tools::Json& said, ExecutorEvents& events);
    /// Takes what one line of the attempt says. Returns the answer, if it asked something.
    [[nodiscard]] std::optional<tools::Json> take(const hpo::command::ProgramLine& line, ExecutorEvents& events);
    void end(const tools::Json& how, ExecutorEvents& events);
    void end_with(AttemptOutcome outcome, ExecutorEvents& events);

    ProgramFront& front_;
    std::string metric_;
    std::size_t objectives_;
    std::optional<Running> running_;
    bool interrupted_ = false;
};

}  // namespace hpo::tune
