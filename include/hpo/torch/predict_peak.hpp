// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "hpo/core/error.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/torch/doubt.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// Why a dry run could not go through, in a line: an operator without a meta kernel is named.
[[nodiscard]] std::string dry_run_problem(const std::string& message);

/// What `work()` gives, done in a thread of its own since autograd keeps with a thread what a failure leaves behind. What it throws
/// becomes an Error of one line, and bad_alloc where the host had no more memory.
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
        const Failure failure = translate_failure(error, "", {});
        if (failure.kind == FailureKind::host_out_of_memory) throw std::bad_alloc{};
        throw Error{Errc::plugin, dry_run_problem(failure.message)};
    }
    return std::move(*result);
}

/// Appends to what limits a prediction.
inline void add_remark(PeakPrediction& prediction, const std::string& text) {
    if (text.empty()) return;
    prediction.remark += (prediction.remark.empty() ? "" : "; ") + text;
}

/// Tells what the dry run knows only roughly.
void add_doubt(PeakPrediction& prediction, const Doubt& doubt);

/// The peak of a trace on a metered CPU device, which counts what tensors ask for and nothing else.
[[nodiscard]] PeakPrediction metered_prediction(const memory::AllocationTrace& trace);

/// What oneDNN takes beside the tensors for products of 16 bits is in the trace as an upper bound. Throws Error where it raises the
/// peak by much.
void tell_product_scratch(PeakPrediction& prediction, const memory::AllocationTrace& trace);

/// Adds what the process holds beside the recorded training, for as long as that lasts: the task's own tensors, and what its code keeps.
void add_held(PeakPrediction& prediction, std::int64_t bytes);

/// The peak on CUDA, whose caching allocator the trace is replayed through with the rules of this LibTorch and the plan's settings. Throws
/// Error for settings that it refuses.
[[nodiscard]] PeakPrediction cuda_prediction(const memory::AllocationTrace& trace, const TrainerJob& job);

/// The peak of a short training's trace on the job's device. Writes the trace that it comes from where the job says.
[[nodiscard]] PeakPrediction peak_of(memory::AllocationTrace trace, const TrainerJob& job);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/predict_peak_inl.hpp"
#endif
