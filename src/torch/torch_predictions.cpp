// SPDX-License-Identifier: MIT

#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hpo/torch/meta/onednn.hpp"
#include "hpo/torch/prediction/data_claims.hpp"
#include "hpo/torch/prediction/dry_run.hpp"
#include "hpo/torch/prediction/predict_peak.hpp"
#include "hpo/torch/prediction/predicted_card.hpp"
#include "hpo/torch/prediction/probe.hpp"
#include "hpo/torch/prediction/recorded_training.hpp"
#include "hpo/torch/prediction/virtual_card.hpp"
#include "hpo/torch/recording/random_reads.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/trainer/cannot_run.hpp"

namespace hpo::libtorch {

PeakPrediction TorchTrainer::predict(const TrainerJob& job, PeakSource source, Progress& progress) {
    TrainerJob shapes = job;
    shapes.shapes_only = true;
    if (source == PeakSource::virtual_card) return predict_on_virtual_card(shapes, progress);
    PeakPrediction peak = source == PeakSource::dry_run ? predict_by_dry_run(shapes, progress) : predict_by_probe(shapes, progress);
    if (job.plan.device == "cpu") progress.memory({"end", 0, std::nullopt, read_memory(torch::kCPU)});
    return peak;
}

PeakPrediction TorchTrainer::predict_on_virtual_card(const TrainerJob& job, Progress& progress) {
    if (job.plan.device == "cpu") throw Error{Errc::plugin, "the plan is for the CPU, and a virtual card is for CUDA"};
    if (!is_on_virtual_card()) throw Error{Errc::plugin, "this process has no virtual card"};
    const torch::Device device = prepare_device(job);
    static_cast<void>(take_unmodelled());
    DataClaims claims;
    allocator::AllocationTrace trace = apart([&] {
        return with_task(job, [&](Task& task, const TrainingPlan& plan) {
            claims = DataClaims::of(task);
            const int threads = threads_of(Settings{info(), job});
            pin_threads(threads);
            const AttemptSettings settings{.device = device, .threads = threads};
            RunningAttempt attempt{settings, progress};
            const RandomReads random;
            const CardReads reads{attempt};
            RecordedTraining recorded;
            try {
                recorded = record_training(ShortTask{task, plan, device}, Seed{job.seed}, attempt);
            } catch (const c10::Error& error) {
                const std::string what = error.what_without_backtrace();
                if (what.find("Expected all tensors to be on the same device") != std::string::npos)
                    throw CannotRun{"in " + std::string{attempt.phase()} + ": " + what.substr(0, what.find('\n'))};
                rethrow_with_phase(attempt.phase());
            } catch (...) {
                rethrow_with_phase(attempt.phase());
            }
            require_whole_training(recorded.outcome);
            for (const std::string& phase : {random.phase(), reads.phase()}) {
                if (!phase.empty()) throw Error{Errc::plugin, ValueReads::refusal_of("in its phase " + phase)};
            }
            return std::move(recorded.trace);
        });
    });
    release_cached_memory(device);
    TrainerJob counted = job;
    counted.cublas_workspace_bytes = 0;  // the trace has them
    PeakPrediction prediction = peak_of(std::move(trace), counted);
    prediction.source = PeakSource::virtual_card;
    prediction.uncertainty = 0.03;  // what is recorded is a short training, after which the cache may lie otherwise
    for (const std::string& name : take_unmodelled()) {
        prediction.uncertainty = std::max(prediction.uncertainty, 0.15);
        add_remark(prediction, name + " is not modelled and may take more");
    }
    claims.tell(prediction);
    return prediction;
}

PeakPrediction TorchTrainer::predict_by_dry_run(const TrainerJob& job, Progress& progress) {
    leave_device();
    const MetaTarget target = job.plan.device == "cpu" ? MetaTarget::cpu : MetaTarget::cuda;
    const DryRunDevice device{target, target == MetaTarget::cuda ? predicted_card(job) : Card{}};
    const TraceDetail detail = job.trace_file.empty() ? TraceDetail::phases : TraceDetail::scopes;
    DataClaims claims;
    std::int64_t held = 0;  // real tensors of the task and its model; a recording on the meta device does not see them
    const DryRun run = apart([&] {
        return with_task(job, [&](Task& task, const TrainingPlan& plan) {
            claims = DataClaims::of(task);
            pin_threads(threads_of(Settings{info(), job}));
            DryRun recorded = dry_run(task, plan, Seed{job.seed}, device, detail, progress);
            held = read_memory(torch::kCPU).allocated.value_or(0);
            return recorded;
        });
    });
    PeakPrediction prediction = peak_of(run.trace, job);
    add_doubt(prediction, run.doubt);
    if (target == MetaTarget::cpu) tell_product_scratch(prediction, run.trace);
    if (target == MetaTarget::cpu) add_held(prediction, held);
    claims.tell(prediction);
    return prediction;
}

PeakPrediction TorchTrainer::predict_by_probe(const TrainerJob& job, Progress& progress) {
    leave_device();
    const TrainerInfo about = info();
    const bool cuda = job.plan.device != "cpu";
    const ProbeTarget target{.cpu = !cuda, .threads = threads_of(Settings{about, job})};
    DataClaims claims;
    const auto with_length = [&](std::optional<std::int64_t> length, const auto& work) {
        TrainerJob shorter = job;
        if (length) shorter.params[about.length_parameter] = *length;
        with_task(shorter, [&](Task& task, const TrainingPlan& plan) {
            claims = DataClaims::of(task);
            work(task, plan);
        });
    };
    const ProbedTrace probed = apart([&] {
        const AttemptSettings settings;
        RunningAttempt attempt{settings, progress};
        try {
            return Probe{with_length, Seed{job.seed}, target, attempt}.predict(!about.length_parameter.empty());
        } catch (...) {
            rethrow_with_phase(attempt.phase());
        }
    });
    MeteredAllocator::release_cache();
    PeakPrediction prediction = peak_of(probed.trace, job);
    prediction.source = PeakSource::probe;
    prediction.uncertainty = std::max({prediction.uncertainty, probed.uncertainty, cuda ? 0.15 : 0.03});
    if (cuda) add_remark(prediction, "recorded on the CPU, whose kernels keep other temporaries");
    const auto precision = job.plan.precision;
    if (!cuda && precision != Precision::fp32 && onednn_has(precision == Precision::bf16 ? torch::kBFloat16 : torch::kHalf)) {
        prediction.uncertainty = std::max(prediction.uncertainty, 0.1);
        add_remark(prediction, "what oneDNN takes of its own for products of 16 bits changes with their size");
    }
    claims.tell(prediction);
    return prediction;
}

}  // namespace hpo::libtorch
