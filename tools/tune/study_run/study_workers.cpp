// SPDX-License-Identifier: MIT
#include "tune/study_run/study_workers.hpp"

#include <algorithm>
#include <utility>

#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {

StudyWorkers::StudyWorkers(const Settings& settings, const TrainerInfo& info, const RunDevice& device, Note note)
    : note_{std::move(note)}, pool_{config(settings, info, device)} {}

worker::PoolConfig StudyWorkers::config(const Settings& settings, const TrainerInfo& info, const RunDevice& device) {
    worker::PoolConfig config = pool_config(settings, info);
    config.workers = device.parallel.workers;
    config.threads = device.parallel.threads;
    config.device_budget_bytes = device.capacity_bytes;
    config.device = device.name;
    config.device_name = device_name(device.name);
    describe_device(config, settings, info);
    config.profile_timeout = std::min(settings.plugin_timeout(), config.profile_timeout);
    config.recall = [this](const std::string& key) { return predictions_ ? predictions_->find(key) : std::nullopt; };
    config.keep = [this](const std::string& key, const std::string& text) {
        if (predictions_) predictions_->keep(key, text);
    };
    config.ledger_owners = [this] { return shared_ ? shared_->reservations().owners() : std::vector<std::int64_t>{}; };
    config.stop_requested = was_interrupted;
    config.worker_attempts = settings.whole("worker-trials", 0);
    config.attempt_time = settings.limit("attempt-time");
    config.silence_time = settings.limit("silence-time");
    config.note = note_;
    return config;
}

void StudyWorkers::share_device(const Settings& settings, const TrainerInfo& info, const RunDevice& device, bool guard_looks,
                                TuneOptions& tune) {
    const auto now = guard_looks ? pool_.device_now() : std::nullopt;
    const auto bytes = device.capacity_bytes || !now ? device.capacity_bytes : now->capacity;
    const bool has_company = device.parallel.workers > 1 || device.name != "cpu" || settings.text("ledger") != "auto";
    if (!bytes || (!has_company && !now)) return;
    shared_.emplace(settings, device.name, *bytes, note_);
    if (now) shared_->reservations().watch_others([this] { return pool_.device_now(); });
    tune.reservations = &shared_->reservations();
    tune.target_share = settings.target_share().value_or(has_company ? SharedDevice::half : 1);
    tune.predicts = !info.peak_sources.empty();
}

}  // namespace hpo::tune
