// SPDX-License-Identifier: MIT
#include "torch/prediction/predict_peak.hpp"

#include <torch/version.h>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/trace_repetition.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/failure/stack_frames.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "torch/meta/products.hpp"

namespace hpo::libtorch {

std::string dry_run_problem(const std::string& message) {
    const std::string line = message.substr(0, message.find('\n'));
    const std::string quoted =
        "Could not run '";  // LibTorch 1.13 and others say: Could not run 'aten::x' with arguments from the 'Meta' backend.
    const std::string plain = ": attempted to run this operator with Meta tensors";  // later versions say: aten::x: attempted to ...
    std::string name;
    if (const auto begin = line.find(quoted); begin != std::string::npos && line.find("'Meta' backend") != std::string::npos) {
        const std::size_t first = begin + quoted.size();
        name = line.substr(first, line.find('\'', first) - first);
    } else if (const auto end = line.find(plain); end != std::string::npos) {
        name = line.substr(0, end);
    }
    return name.empty() ? std::string{without_dispatcher_advice(line)} : "LibTorch has no meta kernel for " + name;
}

void rethrow_with_phase(std::string_view phase) {
    const std::exception_ptr error = std::current_exception();
    const Failure failure = translate_failure(error, phase, {});
    if (failure.type == "hpo::Error" || failure.kind == FailureKind::host_out_of_memory || failure.kind == FailureKind::out_of_memory)
        std::rethrow_exception(error);
    throw Error{Errc::plugin, "in " + std::string{phase} + ": " + dry_run_problem(failure.message)};
}

void add_doubt(PeakPrediction& prediction, const Doubt& doubt) {
    if (doubt.share <= prediction.uncertainty) return;
    prediction.uncertainty = doubt.share;
    add_remark(prediction, doubt.of + "'s memory is known roughly");
}

PeakPrediction metered_prediction(const allocator::AllocationTrace& trace) {
    const allocator::TracePeak peak = allocator::requested_peak(trace);
    PeakPrediction prediction;
    prediction.requested_bytes = prediction.allocated_bytes = prediction.reserved_bytes = peak.bytes;
    prediction.need = prediction.comfort = peak.bytes;
    prediction.parts = allocator::parts_after(trace, peak.event);
    return prediction;
}

void tell_product_scratch(PeakPrediction& prediction, const allocator::AllocationTrace& trace) {
    constexpr double much = 0.05;
    const std::int64_t without = allocator::requested_peak(trace, kernels_of_meta::product_scratch).bytes;
    const std::int64_t scratch = prediction.need - without;
    if (scratch == 0) return;
    if (static_cast<double>(scratch) > much * static_cast<double>(without)) {
        throw Error{Errc::plugin, "a product of 16 bits, for which oneDNN may take up to " + format_bytes(scratch) +
                                      " of its own: only a probe tells its memory"};
    }
    prediction.upper_bound = true;
    add_remark(prediction, "up to " + format_bytes(scratch) + " of it is oneDNN's own for a product of 16 bits");
}

void add_held(PeakPrediction& prediction, std::int64_t bytes) {
    if (bytes <= 0) return;
    for (std::int64_t* const sum :
         {&prediction.requested_bytes, &prediction.allocated_bytes, &prediction.reserved_bytes, &prediction.need, &prediction.comfort})
        *sum += bytes;
    prediction.parts.push_back({"held", bytes});
}

PeakPrediction cuda_prediction(const allocator::AllocationTrace& trace, const TrainerJob& job) {
    const ExecutionPlan& plan = job.plan;
    const auto version = allocator::parse_libtorch_version(TORCH_VERSION).value_or(allocator::LibTorchVersion{});
    allocator::AllocatorSettings settings = allocator::read_allocator_conf(plan.allocator_settings, version, "plan.allocator_settings");
    settings.expandable_segments =
        settings.expandable_segments || (plan.expandable_segments && version >= allocator::LibTorchVersion{2, 1});
    allocator::CudaOverheads overheads = allocator::usual_cuda_overheads(version);
    if (version.major >= 2) overheads.cublas_workspace_bytes = job.cublas_workspace_bytes.value_or(overheads.cublas_workspace_bytes);
    overheads.context_bytes = job.cuda_context_bytes.value_or(overheads.context_bytes);
    const allocator::AllocationTrace whole = allocator::with_cublas_workspaces(trace, overheads.cublas_workspace_bytes);
    const allocator::CapacityNeed found = allocator::capacity_need(whole, settings, overheads.context_bytes);
    PeakPrediction prediction;
    prediction.requested_bytes = found.unlimited.counts.requested_peak;
    prediction.allocated_bytes = found.unlimited.counts.allocated_peak;
    prediction.reserved_bytes = found.unlimited.counts.reserved_peak;
    prediction.need = found.need;
    prediction.comfort = found.comfort;
    const allocator::TracePeak peak = allocator::requested_peak(whole);
    prediction.parts = allocator::parts_with_cublas(whole, peak.event);
    prediction.parts.push_back({guard::context_part, overheads.context_bytes});
    prediction.parts.push_back({"allocator", found.need - overheads.context_bytes - peak.bytes});
    prediction.uncertainty = plan.precision == Precision::fp32 ? 0.03 : 0.06;
    prediction.remark =
        "for the CUDA allocator of LibTorch " TORCH_VERSION "; the context is taken to be " + format_bytes(overheads.context_bytes);
    if (version.major >= 2 && overheads.cublas_workspace_bytes > 0) {
        prediction.remark += ", cuBLAS's two workspaces " + format_bytes(overheads.cublas_workspace_bytes) + " each";
        if (!job.cublas_workspace_bytes) prediction.remark += ", of which Hopper has larger ones";
    }
    return prediction;
}

PeakPrediction peak_of(allocator::AllocationTrace trace, const TrainerJob& job) {
    const bool metered = job.plan.device == "cpu";
    if (!metered) trace = allocator::with_more_steps(std::move(trace));
    if (!job.trace_file.empty()) allocator::write_trace(job.trace_file, trace);
    return metered ? metered_prediction(trace) : cuda_prediction(trace, job);
}

}  // namespace hpo::libtorch
