// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/torch/recording/trace_recorder.hpp"

namespace hpo::libtorch {

/// While it lives, numbers that this thread reads from tensors do not affect memory: they go to a log, a check or a metric. A dry run's
/// tensors have no numbers, so it answers 0 and goes on. At any other read in a training it ends, because the code might do something else
/// for another number.
class HarmlessReads {
public:
    HarmlessReads() { ++depth(); }
    ~HarmlessReads() { --depth(); }
    HarmlessReads(const HarmlessReads&) = delete;
    HarmlessReads& operator=(const HarmlessReads&) = delete;
    [[nodiscard]] static bool in_force() { return depth() > 0; }

private:
    static int& depth() {
        thread_local int depth = 0;
        return depth;
    }
};

/// Sets the answer to reads in the evaluations of one dry run: always 0 or always 1. Evaluations read metrics, so a read alone does not
/// matter. Two dry runs with different answers show whether the memory depends on them. One at a time in a thread.
class EvaluationReads {
public:
    /// After `most` reads a further one is refused. Otherwise code that waits for a certain number might never end.
    explicit EvaluationReads(bool answer, std::int64_t most = 1'000'000) : answer_{answer}, most_{most} { current() = this; }
    ~EvaluationReads() { current() = nullptr; }
    EvaluationReads(const EvaluationReads&) = delete;
    EvaluationReads& operator=(const EvaluationReads&) = delete;
    /// Whether this thread is in an evaluation, but not in a pass of its model.
    [[nodiscard]] static bool in_evaluation() { return evaluating(); }
    /// The number of such reads.
    [[nodiscard]] std::int64_t count() const { return count_; }

    /// While it lives, this thread is in an evaluation (true), or in a model's forward pass inside one (false).
    class Scope {
    public:
        explicit Scope(bool evaluates) : before_{std::exchange(evaluating(), evaluates)} {}
        ~Scope() { evaluating() = before_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        bool before_;
    };

private:
    friend class ValueReads;
    static EvaluationReads*& current() {
        thread_local EvaluationReads* current = nullptr;
        return current;
    }
    static bool& evaluating() {
        thread_local bool evaluating = false;
        return evaluating;
    }

    bool answer_;
    std::int64_t most_;
    std::int64_t count_ = 0;
};

/// Reads of numbers from tensors that have none. Thread safety: all members.
class ValueReads {
public:
    /// The answer, 0 or 1, for all numbers that the operator `name` would read. Throws if another number might change what memory the code
    /// takes. A dry run notices this even if the exception is caught.
    [[nodiscard]] static bool answer(std::string_view name) {
        if (HarmlessReads::in_force()) return false;
        EvaluationReads* const reads = EvaluationReads::evaluating() ? EvaluationReads::current() : nullptr;
        if (reads && ++reads->count_ <= reads->most_) return reads->answer_;
        ++refused();
        throw std::runtime_error{refusal(name)};
    }
    /// The number of reads that were refused in this process.
    [[nodiscard]] static std::int64_t refusals() { return refused(); }

    /// The message that says why a dry run does not know the memory: "the training reads numbers from tensors (item, in its phase forward),
    /// ...".
    [[nodiscard]] static std::string refusal(std::string_view name) {
        const std::string phase = TraceRecorder::instance().phase();
        return refusal_of(std::string{name} + (phase.empty() ? "" : ", in its phase " + phase));
    }
    /// The same for a place in words: "in its phase forward".
    [[nodiscard]] static std::string refusal_of(const std::string& place) {
        return "the training reads numbers from tensors (" + place + "), and its memory may hang on them: only a probe tells it";
    }

private:
    static std::atomic<std::int64_t>& refused() {
        static std::atomic<std::int64_t> refused{0};
        return refused;
    }
};

}  // namespace hpo::libtorch
