// SPDX-License-Identifier: MIT
#include "torch/prediction/dry_run.hpp"

#include <torch/torch.h>
#include <cstdint>
#include <optional>
#include <utility>

#include "allocator/trace_extrapolation.hpp"
#include "hpo/base/error.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "hpo/torch/training/loop.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "torch/meta/autocast.hpp"
#include "torch/meta/cuda.hpp"
#include "torch/meta/device.hpp"
#include "torch/meta/host.hpp"
#include "torch/prediction/predict_peak.hpp"
#include "torch/prediction/trace_scopes.hpp"
#include "torch/recording/mixed_devices.hpp"
#include "torch/recording/random_reads.hpp"

namespace hpo::libtorch {

void require_whole_training(const AttemptOutcome& outcome) {
    if (outcome.kind != OutcomeKind::complete) throw Error{Errc::interrupted, "the training was stopped"};
}

allocator::AllocationTrace trace_training(ShortTask task, Seed seed, Recorded recorded, RunningAttempt& attempt) {
    Recording recording{recorded};
    const AttemptOutcome outcome = train(task, task.plan(), seed, attempt);
    require_whole_training(outcome);
    return recording.finish();
}

DryRun dry_run(Task& task, const TrainingPlan& plan, Seed seed, const DryRunDevice& device, TraceDetail detail, Progress& progress) {
    const MetaTarget target = device.target;
    const MetaDevice stand_in{target};
    const MetaAutocast autocast{target};
    std::optional<MetaCuda> cuda;
    std::optional<MetaHost> host;
    if (target == MetaTarget::cuda) cuda.emplace(device.card);
    else host.emplace();
    static_cast<void>(Doubt::take());
    if (plan.precision != Precision::fp32) Doubt::note(0.01, "autocast");
    const AttemptSettings settings{.device = torch::Device{torch::kMeta}};
    RunningAttempt attempt{settings, progress};
    const auto record_with = [&](TraceDetail wanted) {
        const std::int64_t refusals_before = ValueReads::refusals();
        ShortTask shortened{task, plan, attempt.device()};
        if (wanted == TraceDetail::scopes) shortened.name_scopes();
        const RandomReads random;
        std::optional<MixedDevices> mixed;
        if (target == MetaTarget::cuda) mixed.emplace(&TraceScopes::place);
        allocator::AllocationTrace trace;
        try {
            trace = trace_training(std::move(shortened), seed, target == MetaTarget::cpu ? Recorded::device_and_host : Recorded::device,
                                   attempt);
        } catch (...) {
            if (mixed && !mixed->problem().empty()) throw CannotRun{mixed->problem()};
            rethrow_with_phase(attempt.phase());
        }
        if (mixed && !mixed->problem().empty()) throw CannotRun{mixed->problem()};
        if (ValueReads::refusals() != refusals_before) throw Error{Errc::plugin, ValueReads::refusal("and goes on where that fails")};
        if (!random.phase().empty()) {
            throw Error{Errc::plugin, "the training reads numbers that it has drawn at random (in its phase " + random.phase() +
                                          "), and its memory may hang on them: only a probe tells it"};
        }
        return trace;
    };
    const auto record = [&] {
        try {
            return record_with(detail);
        } catch (const CannotRun&) {
            if (detail == TraceDetail::scopes) throw;
            static_cast<void>(record_with(TraceDetail::scopes));  // throws again, and names the module
            throw;
        }
    };
    std::int64_t evaluation_reads = 0;
    allocator::AllocationTrace trace = [&] {
        const EvaluationReads zeros{false};
        auto first = record();
        evaluation_reads = zeros.count();
        return first;
    }();
    if (evaluation_reads > 0) {
        const EvaluationReads ones{true, evaluation_reads};
        const allocator::AllocationTrace other = record();
        if (!allocator::TraceExtrapolation::same_order(trace, other) || trace.blocks != other.blocks)
            throw Error{Errc::plugin, "the evaluation takes other memory where it reads other numbers: only a probe tells it"};
    }
    return {std::move(trace), Doubt::take()};
}

}  // namespace hpo::libtorch
