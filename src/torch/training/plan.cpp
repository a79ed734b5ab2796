// SPDX-License-Identifier: MIT
#include "hpo/torch/training/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::libtorch {

std::vector<TrainerParameter> training_parameters() {
    return {
        {"train.batch_size", "int", "[1, 1048576]", std::int64_t{64}, "examples of a batch, at most so many in memory at a time"},
        {"train.grad_accum", "int", "[1, 4096]", std::int64_t{1}, "batches for one optimizer step, one after the other in memory",
         MemoryUse::whether_above_one},
        {"optim.kind", "one of sgd, adamw, adafactor", "", std::string{"adamw"}, "optimizer"},
        {"optim.lr", "float", "(0, inf)", 1e-3, "highest learning rate; adafactor's is a share of each tensor's root mean square",
         MemoryUse::none},
        {"optim.momentum", "float", "[0, 1)", 0.9, "of sgd", MemoryUse::whether_zero},
        {"optim.nesterov", "bool", "", false, "Nesterov's momentum, for sgd"},
        {"optim.weight_decay", "float", "[0, inf)", 0.0, "weight decay", MemoryUse::whether_zero},
        {"optim.schedule", "one of constant, cosine, linear", "", std::string{"constant"}, "the learning rate after the warm-up",
         MemoryUse::none},
        {"optim.warmup", "float", "[0, 1)", 0.0, "share of the steps in which the learning rate rises", MemoryUse::none},
        {"optim.clip_norm", "float", "[0, inf)", 0.0, "longest that a step's gradients may be all together; 0: any length",
         MemoryUse::whether_zero},
        {"optim.layer_decay", "float", "(0, 1]", 1.0, "learning rate of each part of the model as a share of that of the part above it",
         MemoryUse::none},
        {"train.tuning", "one of full, probe, lora", "", std::string{"full"}, "what learns: all, the last part, low-rank additions"},
        {"train.frozen_embeddings", "bool", "", false, "the model's first part learns nothing"},
        {"train.frozen_layers", "int", "[0, 1000]", std::int64_t{0}, "lowest layers that learn nothing, and the embeddings with them"},
        {"train.patience", "int", "[0, 1000000]", std::int64_t{0},
         "epochs without improvement before the trial ends; 0: never, and the last epoch counts", MemoryUse::whether_zero},
        {"lora.rank", "int", "[1, 4096]", std::int64_t{8}, "rank of the additions"},
        {"lora.alpha", "float", "(0, inf)", 16.0, "they are multiplied by alpha / rank", MemoryUse::none},
        {"lora.dropout", "float", "[0, 1)", 0.0, "share of their inputs dropped", MemoryUse::whether_zero},
        {"lora.targets", "text", "", std::string{}, "names of the layers adapted, such as query,value; empty: all below the head"},
        {"epochs", "int", "[1, 1000000]", std::int64_t{3}, "passes over the training examples", MemoryUse::whether_above_one},
        {"reports_per_epoch", "int", "[1, 1000]", std::int64_t{1}, "evaluations in an epoch, evenly spaced, each of them reported"},
        {"eval_batch", "int", "[1, 1024]", std::int64_t{1}, "examples evaluated at a time, as a multiple of the micro-batch"},
        {"loader_workers", "int", "[0, 256]", std::int64_t{0}, "threads that prepare batches ahead; 0: the attempt's own does"},
        {"checkpoint_seconds", "float", "[0, inf)", 5.0, "least time between two checkpoints of a trial; 0: after every report",
         MemoryUse::none},
        {"threads", "int", "[0, 1024]", std::int64_t{0}, "threads that LibTorch computes with; 0: as many as the worker was given"},
    };
}

std::vector<std::string> listed_names(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        std::string_view name = text.substr(0, text.find(','));
        text.remove_prefix(std::min(name.size() + 1, text.size()));
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        if (!name.empty()) names.emplace_back(name);
    }
    return names;
}

TrainingPlan training_plan(const Settings& settings, const TrainerJob& job) {
    ExecutionPlan execution = job.plan;
    if (!execution.effective_batch) execution.effective_batch = settings.whole("train.batch_size");
    if (*execution.effective_batch < 1 || (execution.micro_batch && *execution.micro_batch < 1)) {
        throw bad_value("plan", "a batch without examples", "effective batch and micro-batch of at least 1");
    }
    if (execution.precision == Precision::fp16 && execution.device == "cpu")
        throw bad_value("plan", "precision fp16", "fp32 or bf16, which is what cpu has");
    TrainingPlan plan;
    plan.epochs = settings.whole("epochs");
    plan.reports_per_epoch = settings.whole("reports_per_epoch");
    plan.batch = *execution.effective_batch;
    plan.effective_batch = plan.batch * settings.whole("train.grad_accum");
    plan.micro_batch = execution.effective_micro_batch().value_or(plan.batch);
    plan.evaluation_batch = plan.micro_batch * settings.whole("eval_batch");
    plan.precision = execution.precision;
    plan.optimizer = {.kind = optimizer_kind(settings.text("optim.kind")).value_or(OptimizerKind::adamw),
                      .learning_rate = settings.number("optim.lr"),
                      .weight_decay = settings.number("optim.weight_decay"),
                      .momentum = settings.number("optim.momentum"),
                      .nesterov = settings.truth("optim.nesterov"),
                      .layer_decay = settings.number("optim.layer_decay")};
    plan.clip_norm = settings.number("optim.clip_norm");
    plan.schedule = {.kind = schedule_kind(settings.text("optim.schedule")).value_or(ScheduleKind::constant),
                     .warmup = settings.number("optim.warmup")};
    plan.tuning = {.kind = tuning_kind(settings.text("train.tuning")).value_or(TuningKind::full),
                   .frozen_embeddings = settings.truth("train.frozen_embeddings"),
                   .frozen_layers = settings.whole("train.frozen_layers"),
                   .lora = {.rank = settings.whole("lora.rank"),
                            .alpha = settings.number("lora.alpha"),
                            .dropout = settings.number("lora.dropout"),
                            .targets = listed_names(settings.text("lora.targets"))}};
    plan.patience = settings.whole("train.patience");
    plan.loader_workers = settings.whole("loader_workers");
    plan.metric = job.metric;
    plan.checkpoints = {
        .folder = job.checkpoint_folder, .resume_step = job.resume_step, .least_seconds = settings.number("checkpoint_seconds")};
    plan.model_folder = job.model_folder;
    return plan;
}

}  // namespace hpo::libtorch
