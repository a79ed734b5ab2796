// SPDX-License-Identifier: MIT
#include "tune/device/worker_config.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "hpo/allocator/cublas_workspace.hpp"
#include "hpo/base/error.hpp"
#include "hpo/trainer/objectives.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {

namespace {

/// cuBLAS's workspace of each thread, as CUBLAS_WORKSPACE_CONFIG or the architecture say it. Nothing where neither does, and for a LibTorch
/// that leaves it to cuBLAS.
std::optional<std::int64_t> cublas_workspace_bytes(const TrainerInfo& info, std::optional<allocator::ComputeCapability> capability) {
    const auto version = allocator::parse_libtorch_version(info.libtorch_version);
    if (!version || version->major < 2) return std::nullopt;
    if (const char* asked = std::getenv("CUBLAS_WORKSPACE_CONFIG")) {
        if (const auto bytes = allocator::configured_cublas_workspace_bytes(asked)) return bytes;
    }
    if (!capability) return std::nullopt;
    return allocator::usual_cublas_workspace_bytes(*version, capability);
}

}  // namespace

void describe_device(worker::PoolConfig& config, const Settings& settings, const TrainerInfo& info) {
    if (is_cpu(config.device)) return;
    const auto card = card_of(config.device);
    PredictedCard like{.name = {}, .capability = settings.compute_capability()};
    if (!like.capability && card) like = {card->name, allocator::parse_compute_capability(card->compute_capability)};
    config.cublas_workspace_bytes = cublas_workspace_bytes(info, like.capability);
    config.cuda_context_bytes = virtual_context_bytes();
    if (!info.uses_cuda && !info.open_ended) return;
    if (info.open_ended) {
        if (!config.cuda_context_bytes) config.cuda_context_bytes = told_context_bytes(like);
        config.prediction_timeout = std::chrono::seconds{50};  // a program runs, and heartbeats wait for it
        config.question_memory_bytes = 0;                      // a limit would be the program's, too
    }
    try {
        config.virtual_card = info.open_ended ? card_for_programs(like) : card_for_predictions(like);
    } catch (const Error& error) {
        if (error.code() != Errc::no_device) throw;
        config.why_no_virtual_card = error.what();
    }
}

std::vector<std::string> several_objectives(const Settings& settings) {
    auto objectives = settings.objectives();
    return objectives.size() > 1 ? objectives : std::vector<std::string>{};
}

worker::PoolConfig pool_config(const Settings& settings, const TrainerInfo& info) {
    return {.worker_program = worker_program(),
            .trainer = info.name,
            .plugin_folders = plugin_folders(settings.arguments().plugin_dirs),
            .options = {settings.description().trainer_options.begin(), settings.description().trainer_options.end()},
            .metric = reported_metric(settings.objectives()),
            .objectives = several_objectives(settings),
            .start_timeout = settings.plugin_timeout(),
            .check_timeout = settings.plugin_timeout()};
}

worker::PoolConfig question_config(const Settings& settings, const TrainerInfo& info, const std::string& device) {
    worker::PoolConfig config = pool_config(settings, info);
    config.device = device;
    describe_device(config, settings, info);
    config.profile_timeout = config.prediction_timeout = settings.plugin_timeout();
    return config;
}

}  // namespace hpo::tune
