// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/trainer.hpp"
#include "torch/recording/doubt.hpp"

namespace hpo::libtorch {

/// Says in one line why a dry run failed. Names an operator that has no meta kernel.
[[nodiscard]] std::string dry_run_problem(const std::string& message);

/// Call it inside a `catch` block. Throws the exception again. Where its text is not of this toolkit, an Error says in one line in which
/// phase of the training it was thrown.
[[noreturn]] void rethrow_with_phase(std::string_view phase);

/// Runs `work()` in a thread of its own and returns its result. After a failure, autograd keeps tensors with the thread. They are freed
/// when the thread ends. An exception becomes an Error of one line, or bad_alloc if the host ran out of memory.
template <class Work>
[[nodiscard]] auto apart(const Work& work) {
    std::optional<decltype(work())> result;
    std::exception_ptr error;
    std::thread{[&] {
        try {
            result.emplace(work());
        } catch (...) {
            error = std::current_exception();
        }
    }}.join();
    if (error) {
        try {
            std::rethrow_exception(error);
        } catch (const CannotRun&) {
            throw;
        } catch (...) {  // translated below
        }
        const Failure failure = translate_failure(error, "", {});
        if (failure.kind == FailureKind::host_out_of_memory) throw std::bad_alloc{};
        throw Error{Errc::plugin, dry_run_problem(failure.message)};
    }
    return std::move(*result);
}

/// Appends to the text that says what limits a prediction.
inline void add_remark(PeakPrediction& prediction, const std::string& text) {
    if (text.empty()) return;
    prediction.remark += (prediction.remark.empty() ? "" : "; ") + text;
}

/// Adds what the dry run knows only roughly.
void add_doubt(PeakPrediction& prediction, const Doubt& doubt);

/// The peak of a trace on a metered CPU device, which counts exactly the bytes that tensors ask for.
[[nodiscard]] PeakPrediction metered_prediction(const allocator::AllocationTrace& trace);

/// Says that the trace holds only an upper bound of what oneDNN takes beside the tensors, for 16-bit products. Throws Error if it raises
/// the peak by much.
void tell_product_scratch(PeakPrediction& prediction, const allocator::AllocationTrace& trace);

/// Adds what the process holds during the whole recorded training but outside of it: the task's own tensors, and those that its code keeps.
void add_held(PeakPrediction& prediction, std::int64_t bytes);

/// The peak on CUDA. The trace is replayed through the model of its caching allocator, with the rules of this LibTorch and the plan's
/// settings. Throws Error for settings that the model refuses.
[[nodiscard]] PeakPrediction cuda_prediction(const allocator::AllocationTrace& trace, const TrainerJob& job);

/// The peak of a short training's trace on the job's device. Also writes the trace if the job asks for it.
[[nodiscard]] PeakPrediction peak_of(allocator::AllocationTrace trace, const TrainerJob& job);

}  // namespace hpo::libtorch
