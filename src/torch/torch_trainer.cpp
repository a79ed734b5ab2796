// SPDX-License-Identifier: MIT
#include "hpo/torch/torch_trainer.hpp"

#include <torch/cuda.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/allocator/trace_file.hpp"
#include "hpo/core/value.hpp"
#include "hpo/torch/meta/onednn.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "hpo/torch/training/prepared_model.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/weights/tensor.hpp"
#include "torch/checks/data_scan.hpp"
#include "torch/checks/device_measurement.hpp"
#include "torch/checks/task_checks.hpp"
#include "torch/prediction/data_claims.hpp"
#include "torch/prediction/dry_run.hpp"
#include "torch/prediction/predict_peak.hpp"
#include "torch/prediction/predicted_card.hpp"
#include "torch/prediction/probe.hpp"
#include "torch/prediction/profile.hpp"
#include "torch/prediction/recorded_training.hpp"
#include "torch/prediction/virtual_card.hpp"
#include "torch/recording/random_reads.hpp"
#include "torch/saved_model.hpp"

namespace hpo::libtorch {

TrainerInfo TorchTrainer::info() const {
    TrainerInfo info = describe();
    for (TrainerParameter& parameter : training_parameters()) info.parameters.push_back(std::move(parameter));
    info.levers.insert(info.levers.begin(), {"micro_batch", "precision"});
    info.effective_batch_parameter = "train.batch_size";
    info.libtorch_version = TORCH_VERSION;
    info.peak_sources = {"dry_run", "probe"};
#ifdef HPO_TORCH_CUDA
    info.uses_cuda = true;
    info.peak_sources.insert(info.peak_sources.begin(), "virtual_card");
#endif
    info.checkpoints = true;
    info.saves_models = true;
    return info;
}

AttemptOutcome TorchTrainer::run(const TrainerJob& job, Progress& progress) {
    return in_attempt(job, progress, [&](const Settings& settings, RunningAttempt& attempt) {
        const std::unique_ptr<Task> task = task_to_train(settings, job);
        keep_log(*task, attempt);
        const TrainingPlan plan = plan_of(settings, job);
        if (job.trace_file.empty()) return train(*task, plan, Seed{job.seed}, attempt);
        ShortTask shortened{*task, plan, attempt.device()};
        shortened.name_scopes();
        RecordedTraining recorded = record_training(std::move(shortened), Seed{job.seed}, attempt);
        allocator::write_trace(job.trace_file, recorded.trace);
        return std::move(recorded.outcome);
    });
}

AttemptOutcome TorchTrainer::evaluate(const TrainerJob& job, Progress& progress) {
    return in_attempt(job, progress, [&](const Settings& settings, RunningAttempt& attempt) {
        attempt.enter("data");
        const std::unique_ptr<Task> task = task_of(settings, job);
        keep_log(*task, attempt);
        const TrainingPlan plan = plan_of(settings, job);
        const std::shared_ptr<Model> model = load_model(*task, job.saved_model, attempt);
        const Metrics metrics = libtorch::evaluate(*task, *model, plan, attempt);
        return measured_outcome(*task, *model, plan, metrics, attempt);
    });
}

std::optional<Profile> TorchTrainer::profile(const TrainerJob& job) {
    std::optional<Profile> profile;
    Silence silence;
    static_cast<void>(in_attempt(job, silence, [&](const Settings& settings, RunningAttempt& attempt) {
        const std::unique_ptr<Task> task = task_to_train(settings, job);
        if (task->has_own_step()) throw Error{Errc::plugin, "a training step of the task's own is not measured"};
        profile = measure_profile(*task, plan_of(settings, job), Seed{job.seed}, attempt);
        return AttemptOutcome{.kind = OutcomeKind::complete};
    }));
    return profile;
}

std::vector<TrainerProblem> TorchTrainer::stoppable_check(const TrainerJob& job, Progress& progress) {
    std::vector<TrainerProblem> problems = Settings::problems(info(), job);
    if (!problems.empty()) return problems;
    const AttemptOutcome outcome = in_attempt(job, progress, [&](const Settings& settings, RunningAttempt& attempt) {
        attempt.tell_phases();
        attempt.enter("data");
        const std::unique_ptr<Task> task = task_to_train(settings, job);
        for (const std::string& remark : task->remarks()) progress.log(remark);
        const CheckedData data{job.options, task->training_examples(), task->held_out_examples()};
        const bool is_first = std::exchange(checked_data_, data) != data;
        problems = check_examples(*task, plan_of(settings, job), Seed{job.seed}, attempt, is_first);
        return AttemptOutcome{.kind = OutcomeKind::complete};
    });
    if (outcome.failure) problems.push_back({outcome.failure->where, outcome.failure->message});
    return problems;
}

std::vector<DeviceFinding> TorchTrainer::measure(const TrainerJob& job, Progress& progress) {
    const AttemptSettings settings{.device = prepare_device(job), .threads = worker_threads_};
    std::vector<DeviceFinding> findings;
    const AttemptOutcome outcome = run_attempt(settings, progress, [&](RunningAttempt& attempt) {
        DeviceMeasurement{attempt, findings}.make();
        return AttemptOutcome{.kind = OutcomeKind::complete};
    });
    if (outcome.failure) throw Error{Errc::plugin, outcome.failure->message};
    return findings;
}

std::unique_ptr<Task> TorchTrainer::task_of(const Settings& settings, const TrainerJob& job) {
    std::unique_ptr<Task> task = make_task(settings, job);
    if (!task) throw Error{Errc::plugin, "the trainer made no task"};
    return task;
}

std::unique_ptr<Task> TorchTrainer::task_to_train(const Settings& settings, const TrainerJob& job) {
    std::unique_ptr<Task> task = task_of(settings, job);
    if (const std::int64_t examples = task->training_examples(); examples < 1)
        throw Error{Errc::plugin, "the task has " + std::to_string(examples) + " training examples; expected 1 or more"};
    return task;
}

torch::Device TorchTrainer::prepare_device(const TrainerJob& job) {
    const bool cuda = job.plan.device.starts_with("cuda");
    if (!cuda && job.plan.device != "cpu")
        throw Error{Errc::no_device, "unknown device '" + job.plan.device + "'; known: cpu, cuda, cuda:N"};
    const torch::Device device{job.plan.device};
    if (cuda && (!torch::cuda::is_available() || device.index() >= static_cast<int>(torch::cuda::device_count()))) {
        throw Error{Errc::no_device, job.plan.device + ": LibTorch " TORCH_VERSION " finds " +
                                         std::to_string(static_cast<int>(torch::cuda::device_count())) + " CUDA devices"};
    }
    MeteredAllocator::instance().use_device(cuda ? std::string{} : job.metered_device);
    limit_memory(device, job.plan.cap_bytes);
    return device;
}

TrainingPlan TorchTrainer::plan_of(const Settings& settings, const TrainerJob& job) const {
    TrainingPlan plan = training_plan(settings, job);
    const std::vector<TrainerMetric> metrics = describe().metrics;
    if (plan.metric.empty() && !metrics.empty()) plan.metric = metrics.front().name;
    std::vector<std::string> known;
    for (const TrainerMetric& metric : metrics) {
        known.push_back(metric.name);
        if (metric.name == plan.metric) plan.direction = metric.direction;
    }
    if (std::find(known.begin(), known.end(), plan.metric) == known.end()) throw unknown_name("objective", "metric", plan.metric, known);
    return plan;
}

template <class Body>
AttemptOutcome TorchTrainer::in_attempt(const TrainerJob& job, Progress& progress, const Body& body) const {
    std::optional<Settings> settings;
    AttemptSettings how;
    try {
        settings.emplace(info(), job);
        how = {.device = prepare_device(job),
               .threads = threads_of(*settings),
               .configuration = settings->configuration(),
               .cap_bytes = job.plan.cap_bytes,
               .settles = job.settles};
    } catch (const Error&) {
        AttemptOutcome outcome;
        outcome.failure = translate_failure(std::current_exception(), "settings", {});
        return outcome;
    }
    return run_attempt(how, progress, [&](RunningAttempt& attempt) { return body(*settings, attempt); });
}

std::vector<TrainerProblem> TorchTrainer::check_examples(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt,
                                                         bool is_first) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(task.training_examples()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    constexpr std::size_t stride = 1024;
    attempt.enter("batch");
    const BatchRules rules = task.batch_rules();
    if (is_first) {
        for (const std::string& line : DataScan{task, [&] { return attempt.stop_requested(); }}.read()) attempt.progress().log(line);
    }
    for (std::size_t start = 0; !is_first && (rules.classes || rules.vocabulary) && start < order.size(); start += stride) {
        const Unmetered outside;
        const auto chosen = std::span{order}.subspan(start, std::min(stride, order.size() - start));
        const Batch batch = task.training_batch(chosen, torch::kCPU);
        check_count(batch, chosen.size());
        check_batch(batch, rules, {.number = static_cast<std::int64_t>(start / stride) + 1, .of = "the data", .examples = chosen});
    }
    PreparedModel prepared = prepare_model(task, plan.tuning, seed, attempt);
    std::vector<TrainerProblem> problems = build_problems(seed);
    if (!task.has_own_step()) {
        const torch::NoGradGuard no_gradients;
        const auto few = std::span{order}.first(std::min<std::size_t>(2, order.size()));
        attempt.enter("batch");
        const Batch batch = task.training_batch(few, attempt.device());
        check_count(batch, few.size());
        attempt.enter("forward");
        const Outputs outputs = prepared.model->forward(batch);
        if (task.classes()) check_logits(outputs[0], batch, *task.classes());
        const torch::Tensor loss = task.loss_sum(outputs, batch);
        if (loss.defined() && loss.numel() == 1) {
            check_loss(loss.item<double>(), "of an untrained model");
            if (is_first && rules.classes && !rules.labels_of_positions)
                attempt.progress().log(first_loss_text(task, *prepared.model, *rules.classes, attempt));
        }
    }
    std::ranges::move(TaskChecks{task, std::move(prepared), plan, attempt, is_first}.find(describe().metrics),
                      std::back_inserter(problems));
    return problems;
}

std::string TorchTrainer::first_loss_text(const Task& task, Model& model, std::int64_t classes, RunningAttempt& attempt) {
    if (attempt.device().is_cuda() && is_on_virtual_card())
        return "not looked at: the values of a loss, of gradients and of a training step, because a virtual card computes nothing";
    constexpr std::int64_t most = 16;
    constexpr std::int64_t at_once = 2;
    const std::int64_t examples = std::min(most, task.training_examples());
    double sum = 0;
    for (std::int64_t start = 0; start < examples; start += at_once) {
        std::vector<std::int64_t> chosen(static_cast<std::size_t>(std::min(at_once, examples - start)));
        std::iota(chosen.begin(), chosen.end(), start);
        const Batch batch = task.training_batch(chosen, attempt.device());
        sum += task.loss_sum(model.forward(batch), batch).item<double>();
    }
    const double mean = sum / static_cast<double>(examples);
    const double chance = std::log(static_cast<double>(classes));
    const auto rounded = [](double value) { return number_text(std::round(value * 1000) / 1000); };
    std::string text = "looked at the loss of an untrained model: " + rounded(mean) + " an example over " + std::to_string(examples) +
                       " examples; guessing gives ln " + std::to_string(classes) + " = " + rounded(chance);
    if (mean > 2 * chance) text += ". It is much more: are the inputs scaled, and the last layer small?";
    if (mean < chance / 2) text += ". It is much less: does the model begin from trained weights, or do the inputs hold the label?";
    return text;
}

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
