// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <exception>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gpu/operators/operator_table.hpp"
#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/trainer/trainer.hpp"
#include "torch/meta/autocast.hpp"
#include "torch/meta/cuda.hpp"
#include "torch/meta/device.hpp"
#include "torch/prediction/predict_peak.hpp"
#include "torch/prediction/predicted_card.hpp"

/// Operators one by one in a dry run for CUDA.
namespace gpu {

inline constexpr hpo::Precision precisions[] = {hpo::Precision::fp32, hpo::Precision::bf16, hpo::Precision::fp16};

[[nodiscard]] inline const char* name_of(hpo::Precision precision) {
    constexpr const char* names[] = {"fp32", "bf16", "fp16"};
    return names[static_cast<int>(precision)];
}

[[nodiscard]] inline std::vector<Operator> all_operators() {
    std::vector<Operator> all;
    for (auto group : {elementwise_operators(), reductions(), products(), layers(), losses(), selections(), optimizers()})
        std::move(group.begin(), group.end(), std::back_inserter(all));
    return all;
}

/// Inputs, forward pass, backward pass, as a training has them.
inline void run(const Operator& each, torch::Device device, hpo::Precision precision) {
    constexpr torch::ScalarType types[] = {torch::kFloat, torch::kBFloat16, torch::kHalf};
    const torch::Tensor result = [&] {
        const hpo::libtorch::Autocast cast{device, precision};
        return each.run({device, types[static_cast<int>(precision)]});
    }();
    if (result.defined() && result.requires_grad()) torch::autograd::backward({result}, {torch::empty_like(result)});
}

/// What an operator takes of a device and gives back.
struct Taken {
    hpo::allocator::AllocationTrace trace;
    std::string problem;  ///< why there is none
};

/// While it lives, meta tensors stand for those of a card.
class DryRunForCuda {
public:
    [[nodiscard]] Taken of(const Operator& each, hpo::Precision precision) const {
        try {
            const hpo::libtorch::MetaFactories factories;
            hpo::libtorch::Recording recording{hpo::libtorch::Recorded::device};
            run(each, torch::kMeta, precision);
            return {without_workspaces(recording.finish()), ""};
        } catch (const std::exception& error) {
            return {{}, hpo::libtorch::dry_run_problem(error.what())};
        }
    }

private:
    static hpo::TrainerJob job() {
        hpo::TrainerJob job;
        job.plan.device = "cuda:0";
        job.cublas_workspace_bytes = 0;
        return job;
    }

    /// Without what a library keeps for ever.
    static hpo::allocator::AllocationTrace without_workspaces(const hpo::allocator::AllocationTrace& trace) {
        hpo::allocator::AllocationTrace rest;
        std::vector<std::int64_t> number(trace.blocks.size(), -1);
        for (const std::int64_t event : trace.events) {
            const std::size_t block = hpo::allocator::AllocationTrace::block_of(event);
            if (trace.scopes[trace.blocks[block].scope] == hpo::allocator::cublaslt_workspace_scope) continue;
            if (event >= 0) number[block] = rest.take({.bytes = trace.blocks[block].bytes});
            else rest.give_back(number[block]);
        }
        return rest;
    }

    hpo::libtorch::MetaDevice device_{hpo::libtorch::MetaTarget::cuda};
    hpo::libtorch::MetaAutocast autocast_{hpo::libtorch::MetaTarget::cuda};
    hpo::libtorch::MetaCuda cuda_{hpo::libtorch::predicted_card(job())};
};

}  // namespace gpu
