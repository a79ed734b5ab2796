// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/worker_jobs.hpp"

#include <unistd.h>
#include <string>
#include <utility>

namespace hpo::worker {

ProcessSpec worker_process(const PoolConfig& config, Environment environment) {
    ProcessSpec spec{.program = config.worker_program, .environment = std::move(environment)};
    spec.arguments = {"--fd", std::to_string(channel_descriptor), "--parent", std::to_string(::getpid()), "--trainer", config.trainer};
    for (const auto& folder : config.plugin_folders) {
        spec.arguments.push_back("--plugin-dir");
        spec.arguments.push_back(folder.string());
    }
    return spec;
}

TrainerJob trainer_job(const PoolConfig& config, const TrainerInfo& info, const Job& job) {
    TrainerJob result{.study = job.study,
                      .trial = job.trial,
                      .attempt = job.attempt,
                      .options = config.options,
                      .metric = config.metric,
                      .objectives = config.objectives,
                      .plan = job.plan,
                      .seed = job.seed,
                      .checkpoint_folder = job.checkpoint_folder,
                      .resume_step = job.resume_step,
                      .model_folder = job.model_folder,
                      .saved_model = job.saved_model,
                      .trace_file = job.trace_file,
                      .cublas_workspace_bytes = config.cublas_workspace_bytes,
                      .cuda_context_bytes = config.cuda_context_bytes,
                      .settles = job.settles};
    for (const Param& param : job.params) result.params.emplace(param.name, param.value());
    if (result.metric.empty() && !info.metrics.empty()) result.metric = info.metrics.front().name;
    result.plan.device = device_inside(job.plan.device);
    return result;
}

}  // namespace hpo::worker
