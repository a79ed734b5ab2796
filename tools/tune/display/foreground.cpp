// SPDX-License-Identifier: MIT
#include "tune/display/foreground.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/signal_name.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/stack_frames.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/trainer/objectives.hpp"
#include "hpo/tuner/study_event.hpp"
#include "hpo/tuner/verdicts.hpp"
#include "hpo/worker/supervisor/attempt_end.hpp"
#include "support/json.hpp"
#include "support/terminal.hpp"
#include "tune/display/text.hpp"
#include "tune/settings/printed_command.hpp"

namespace hpo::tune {
namespace {

/// Prints what a trainer tells as it comes, or keeps it for the end.
class Printer final : public hpo::Progress {
public:
    Printer(std::string metric, bool as_json) : metric_{std::move(metric)}, as_json_{as_json} {}
    bool report(std::int64_t step, double value) override {
        reports_.push_back({{"step", step}, {"value", tools::to_json(value)}, {"seconds", elapsed()}});
        if (!as_json_)
            std::cout << "step " << step << ": " << metric_ << " " << metric_value_text(metric_, value) << "  (" << duration(elapsed())
                      << ")" << std::endl;
        return true;
    }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const MemoryMark& mark) override {
        tools::Json entry = tools::to_json(mark.reading);
        entry["name"] = mark.name;
        entry["seconds"] = mark.seconds;
        marks_.push_back(std::move(entry));
        if (as_json_) return;
        std::cout << "memory at " << mark.name << ": " << (mark.reading.allocated ? format_bytes(*mark.reading.allocated) : "?")
                  << " in use";
        if (mark.reading.peak_allocated) std::cout << ", peak " << format_bytes(*mark.reading.peak_allocated);
        if (mark.reading.capacity) std::cout << ", of " << format_bytes(*mark.reading.capacity);
        std::cout << std::endl;
    }
    void log(std::string_view line) override { std::cout << std::string{line} + "\n" << std::flush; }
    [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
    [[nodiscard]] const tools::Json& reports() const { return reports_; }
    [[nodiscard]] const tools::Json& marks() const { return marks_; }

private:
    std::string metric_;
    bool as_json_;
    tools::Json reports_ = tools::Json::array();
    tools::Json marks_ = tools::Json::array();
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// While this lives, what anybody prints on standard output goes to standard error: there stands one JSON document in the end.
class OutputAside {
public:
    OutputAside() : kept_{::dup(STDOUT_FILENO)} { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
    OutputAside(const OutputAside&) = delete;
    OutputAside& operator=(const OutputAside&) = delete;
    ~OutputAside() {
        std::cout.flush();
        std::fflush(stdout);
        ::dup2(kept_, STDOUT_FILENO);
        ::close(kept_);
    }
    [[nodiscard]] int kept() const { return kept_; }

private:
    int kept_;
};

/// One attempt in this process, and what is said of it.
class Foreground {
public:
    Foreground(const TrainerJob& job, const ParamSet& params, const ForegroundOptions& options)
        : job_{job}, params_{params}, options_{options}, printer_{job_.metric, options.json} {
        if (options.json) aside_.emplace();
    }

    /// Runs the trainer, which may end this process: that is a failure too, and said like one.
    [[nodiscard]] int run(Trainer& trainer) {
        running = this;
        ::on_exit(
            [](int status, void*) {
                if (running) running->ended_by_trainer(status);
            },
            nullptr);
        AttemptOutcome outcome = [&] {
            const FatalSignals signals{*this};
            return trainer.run(job_, printer_);
        }();
        running = nullptr;
        outcome.seconds = printer_.elapsed();
        complete_values(outcome, job_);
        return conclude(worker::checked_outcome(worker::Running{.trial = job_.trial}, std::move(outcome)));
    }

private:
    /// While this lives, a signal of a broken program ends this process with the text that `prepare` has made. The handler calls only
    /// what is allowed in one: the heap may be broken.
    class FatalSignals {
    public:
        explicit FatalSignals(Foreground& foreground) {
            foreground.prepare_signal_text();
            struct ::sigaction action {};
            action.sa_handler = [](int number) {
                if (running && running->process_ == ::getpid())
                    running->ended_by_signal(number);  // a child that the trainer forked is silent
                ::_exit(exit_code(Errc::check_failed));
            };
            action.sa_flags = SA_ONSTACK;
            ::stack_t stack{};
            stack.ss_sp = stack_.data();
            stack.ss_size = stack_.size();
            ::sigaltstack(&stack, &stack_before_);  // a stack that overflowed has no room for the handler
            for (std::size_t i = 0; i < fatal.size(); ++i) ::sigaction(fatal[i], &action, &before_[i]);
        }
        FatalSignals(const FatalSignals&) = delete;
        FatalSignals& operator=(const FatalSignals&) = delete;
        ~FatalSignals() {
            for (std::size_t i = 0; i < fatal.size(); ++i) ::sigaction(fatal[i], &before_[i], nullptr);
            ::sigaltstack(&stack_before_, nullptr);
        }

        static constexpr std::array fatal{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

    private:
        std::array<char, 64 << 10> stack_{};
        ::stack_t stack_before_{};
        std::array<struct ::sigaction, fatal.size()> before_{};
    };

    /// What is said if a signal ends the process, before and behind the signal's name.
    void prepare_signal_text() {
        constexpr std::string_view name = "SIGNAL";
        AttemptOutcome outcome;
        outcome.failure = Failure{.kind = FailureKind::crash, .message = signal_message + std::string{name}};
        std::string text = "failed: " + std::string{to_text(FailureKind::crash)} + "\n" + outcome.failure->message + "\n";
        if (aside_) {
            tools::Json document = document_of(outcome);
            for (const char* unknown : {"seconds", "reports", "memory"}) document[unknown] = nullptr;
            text = document.dump(2) + "\n";
        }
        std::cout.flush();
        std::fflush(nullptr);
        const auto at = text.find(outcome.failure->message) + outcome.failure->message.size() - name.size();
        before_signal_ = text.substr(0, at);
        behind_signal_ = text.substr(at + name.size());
        for (std::size_t i = 0; i < signal_names_.size(); ++i) signal_names_[i] = signal_name(FatalSignals::fatal[i]);
    }
    void ended_by_signal(int number) const {
        std::string_view which = "a signal";
        for (std::size_t i = 0; i < signal_names_.size(); ++i) {
            if (FatalSignals::fatal[i] == number) which = signal_names_[i];
        }
        const int output = aside_ ? aside_->kept() : STDOUT_FILENO;
        for (const std::string_view part : {std::string_view{before_signal_}, which, std::string_view{behind_signal_}})
            static_cast<void>(!::write(output, part.data(), part.size()));
    }

    void ended_by_trainer(int status) {
        AttemptOutcome outcome;
        outcome.failure = classify_exit({.exit_status = status, .signal = {}, .last_words = {}});
        outcome.failure->message = "the trainer ended the process with status " + std::to_string(status);
        const int result = conclude(std::move(outcome));
        std::cout.flush();
        std::fflush(nullptr);
        ::_exit(result);
    }

    /// Holds the outcome against what a study asks, says what came of it, and gives the exit status.
    int conclude(AttemptOutcome outcome) {
        if (outcome.kind == OutcomeKind::complete) {
            Trial trial;
            if (auto failure = tuner::settle_complete(trial, outcome.values, std::max<std::size_t>(1, job_.objectives.size()))) {
                outcome.kind = OutcomeKind::failed;
                outcome.failure = std::move(failure);
            }
        }
        for (const DroppedAttribute& dropped : tuner::drop_attributes(outcome.attributes, store::is_json))
            std::cerr << "hpo-tune: note: " << tools::on_one_line(dropped.note()) << "\n";
        for (const MemoryMark& mark : outcome.memory) printer_.memory(mark);
        if (outcome.failure) {
            OomContext context{.at_start = std::nullopt, .capacity = options_.budget_bytes};
            for (const MemoryMark& mark : outcome.memory) {
                if (mark.name == "trial_start") context.at_start = mark.reading;
            }
            explain_oom(*outcome.failure, context);
        }
        if (outcome.kind == OutcomeKind::complete && options_.completed) options_.completed(outcome);
        if (aside_) print_json(outcome);
        else print_text(outcome);
        return outcome.failure ? exit_code(Errc::check_failed) : 0;
    }

    void print_text(const AttemptOutcome& outcome) const {
        for (const auto& [name, value] : outcome.attributes)
            std::cout << tools::clipped(tools::on_one_line(name + ": " + value), 2000) << "\n";
        if (outcome.failure) {
            const Failure& failure = *outcome.failure;
            std::cout << "failed after " << duration(printer_.elapsed()) << ": " << to_text(failure.kind)
                      << (failure.where.empty() ? "" : " in " + failure.where) << "\n"
                      << failure.message << "\n";
            if (failure.cause) std::cout << "cause: " << to_text(*failure.cause) << ", " << failure.evidence << "\n";
            const std::string said = options_.verbose ? failure.traceback : without_frames(failure.traceback);
            if (failure.message.find(said) == std::string::npos) std::cout << said << "\n";
            if (said != failure.traceback) std::cout << "-v also shows the stack of the exception\n";
            return;
        }
        for (std::size_t i = 0; i < outcome.values.size(); ++i) {
            const std::string& metric = job_.objectives.empty() ? job_.metric : job_.objectives[i];
            std::cout << metric << " " << metric_value_text(metric, outcome.values[i]) << "\n";
        }
        std::cout << "done in " << duration(printer_.elapsed());
        if (outcome.peak_allocated) std::cout << ", peak " << format_bytes(*outcome.peak_allocated);
        std::cout << (outcome.approximate ? ", approximate: this plan is not the same computation as one large batch" : "") << "\n";
        if (outcome.kind == OutcomeKind::complete && !options_.model.empty())
            std::cout << "model: " << shell_quoted(options_.model)
                      << "; measure it again: " << evaluate_command(options_.model, options_.plugin_dirs) << "\n";
    }

    void print_json(const AttemptOutcome& outcome) {
        const tools::Json document = document_of(outcome);
        aside_.reset();
        tools::print(document);
    }

    [[nodiscard]] tools::Json document_of(const AttemptOutcome& outcome) const {
        using tools::Json;
        Json values = Json::array();
        if (!outcome.failure) {
            for (const double value : outcome.values) values.push_back(tools::to_json(value));
        }
        Json failure = nullptr;
        if (outcome.failure) {
            const Failure& what = *outcome.failure;
            failure = {{"kind", to_text(what.kind)},
                       {"where", tools::text_or_null(what.where)},
                       {"message", what.message},
                       {"type", tools::text_or_null(what.type)},
                       {"cause", what.cause ? Json(to_text(*what.cause)) : Json(nullptr)},
                       {"evidence", tools::text_or_null(what.evidence)},
                       {"requested_bytes", tools::or_null(what.requested_bytes)},
                       {"traceback", tools::text_or_null(what.traceback)}};
        }
        return {{"study", job_.study},
                {"trial", job_.trial},
                {"params", tools::to_json(params_)},
                {"plan", tools::to_json(job_.plan)},
                {"ok", !outcome.failure},
                {"metric", job_.metric},
                {"values", std::move(values)},
                {"failure", std::move(failure)},
                {"seconds", printer_.elapsed()},
                {"peak_bytes", tools::or_null(outcome.peak_allocated)},
                {"approximate", outcome.approximate},
                {"model", outcome.kind != OutcomeKind::complete || options_.model.empty() ? Json(nullptr) : Json(options_.model)},
                {"reports", printer_.reports()},
                {"memory", printer_.marks()},
                {"attributes", tools::to_json(outcome.attributes)}};
    }

    static constexpr const char* signal_message = "the trainer ended the process by ";

    inline static Foreground* running = nullptr;  ///< while the trainer works
    const TrainerJob& job_;
    const ParamSet& params_;
    const ForegroundOptions& options_;
    Printer printer_;
    std::optional<OutputAside> aside_;  ///< for one JSON document
    const ::pid_t process_ = ::getpid();
    std::string before_signal_, behind_signal_;
    std::array<std::string, FatalSignals::fatal.size()> signal_names_;
};

}  // namespace

int run_in_foreground(Trainer& trainer, const TrainerJob& job, const ParamSet& params, const ForegroundOptions& options) {
    return Foreground{job, params, options}.run(trainer);
}

}  // namespace hpo::tune
