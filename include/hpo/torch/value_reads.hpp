// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/torch/trace_recorder.hpp"

namespace hpo::torch {

/// While it lives, numbers that this thread reads from tensors decide nothing about memory: they go to a log, a check or a metric. A dry
/// run, whose tensors have no numbers, then answers 0 and goes on. Anywhere else in a training it ends at such a read, since nobody knows
/// what the code would have done.
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

/// What reads of numbers are answered in the evaluations of one dry run: 0 each, or 1 each. Metrics are read there, so that a read alone
/// says nothing; two dry runs with other answers tell whether memory hangs on them. One at a time in a thread.
class EvaluationReads {
public:
    /// `most`: a further read is refused. Code that goes on until a number suits it may never be content.
    explicit EvaluationReads(bool answer, std::int64_t most = 1'000'000) : answer_{answer}, most_{most} { current() = this; }
    ~EvaluationReads() { current() = nullptr; }
    EvaluationReads(const EvaluationReads&) = delete;
    EvaluationReads& operator=(const EvaluationReads&) = delete;
    /// Whether this thread is in an evaluation, its model's passes excepted.
    [[nodiscard]] static bool in_evaluation() { return evaluating(); }
    /// How many there were.
    [[nodiscard]] std::int64_t count() const { return count_; }

    /// While it lives, this thread is in an evaluation, or, with false, in a model's forward pass in one.
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
    /// The number, 0 or 1, that stands for all that the operator `name` would read. Throws where the code that asks may take other memory
    /// for another number; a dry run notices that also where somebody catches it.
    [[nodiscard]] static bool answer(std::string_view name) {
        if (HarmlessReads::in_force()) return false;
        EvaluationReads* const reads = EvaluationReads::evaluating() ? EvaluationReads::current() : nullptr;
        if (reads && ++reads->count_ <= reads->most_) return reads->answer_;
        ++refused();
        throw std::runtime_error{refusal(name)};
    }
    /// How many reads were refused in this process.
    [[nodiscard]] static std::int64_t refusals() { return refused(); }

    /// "the training reads numbers from tensors (item, in its phase forward), ...": why a dry run does not know the memory.
    [[nodiscard]] static std::string refusal(std::string_view name) {
        const std::string phase = TraceRecorder::instance().phase();
        return "the training reads numbers from tensors (" + std::string{name} + (phase.empty() ? "" : ", in its phase " + phase) +
               "), and its memory may hang on them: only a probe tells it";
    }

private:
    static std::atomic<std::int64_t>& refused() {
        static std::atomic<std::int64_t> refused{0};
        return refused;
    }
};

}  // namespace hpo::torch
