// SPDX-License-Identifier: MIT
#include "tune/study_run/study_workers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "hpo/core/device_word.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/worker_config.hpp"
#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {

StudyWorkers::StudyWorkers(const Settings& settings, const TrainerInfo& info, const std::vector<RunDevice>& devices, Note note)
    : note_{std::move(note)} {
    try {
        predictions_ = store::StoredPredictions::of_existing(settings.text("store"));
    } catch (const Error&) {  // it is said when the store is opened
    }
    for (const RunDevice& device : devices) devices_.emplace_back(*this, settings, info, device);
}

worker::PoolConfig StudyWorkers::config(Device& device, const Settings& settings, const TrainerInfo& info) {
    worker::PoolConfig config = pool_config(settings, info);
    config.workers = device.what.parallel.workers;
    config.threads = device.what.parallel.threads;
    config.device_budget_bytes = device.what.capacity_bytes;
    config.device = device.what.name;
    config.device_name = device_name(device.what.name);
    describe_device(config, settings, info);
    config.loop = loop_;
    config.profile_timeout = std::min(settings.plugin_timeout(), config.profile_timeout);
    config.recall = [this](const std::string& key) { return recall(key); };
    config.keep = [this](const std::string& key, const std::string& text) { keep(key, text); };
    config.ledger_owners = [&device] { return device.shared ? device.shared->reservations().owners() : std::vector<std::int64_t>{}; };
    config.stop_requested = was_interrupted;
    config.worker_attempts = settings.whole("worker-trials", 0);
    config.attempt_time = settings.limit("attempt-time");
    config.silence_time = settings.limit("silence-time");
    config.note = note_;
    return config;
}

std::optional<std::string> StudyWorkers::recall(const std::string& key) { return predictions_ ? predictions_->find(key) : std::nullopt; }

void StudyWorkers::keep(const std::string& key, const std::string& text) {
    if (keeps_) predictions_->keep(key, text);
    else waiting_.emplace_back(key, text);
}

void StudyWorkers::keep_predictions_in(const std::string& store, const store::PatienceOptions& patience) {
    predictions_ = std::make_unique<store::StoredPredictions>(store, patience);
    keeps_ = true;
    try {
        for (const auto& [key, text] : std::exchange(waiting_, {})) predictions_->keep(key, text);
    } catch (const Error&) {  // they can be made again
    }
}

void StudyWorkers::share_devices(const Settings& settings, const TrainerInfo& info, bool guard_looks, TuneOptions& tune) {
    tune.predicts = !info.peak_sources.empty();
    for (Device& device : devices_) {
        const auto now = guard_looks ? device.pool.device_now() : std::nullopt;
        const auto bytes = device.what.capacity_bytes || !now ? device.what.capacity_bytes : now->capacity;
        const bool has_company = device.what.parallel.workers > 1 || !is_cpu(device.what.name) || settings.text("ledger") != "auto";
        if (!bytes || (!has_company && !now)) continue;
        device.shared.emplace(settings, device.what.name, *bytes, note_);
        if (now) device.shared->reservations().watch_others([&pool = device.pool] { return pool.device_now(); });
        tune.target_share = settings.target_share().value_or(has_company ? SharedDevice::half : 1);
    }
}

StudyWorkers::Device& StudyWorkers::largest() {
    const auto bytes = [](const Device& device) {
        return device.what.is_fallback ? 0 : device.what.capacity_bytes.value_or(std::numeric_limits<std::int64_t>::max());
    };
    return *std::ranges::max_element(devices_, {}, bytes);
}

std::vector<TuneDevice> StudyWorkers::devices(bool predicts) {
    std::vector<TuneDevice> devices;
    for (Device& device : devices_) {
        devices.push_back({.name = device.what.name,
                           .executor = device.pool,
                           .reservations = device.shared ? &device.shared->reservations() : nullptr,
                           .predicts = predicts,
                           .is_fallback = device.what.is_fallback});
    }
    return devices;
}

std::vector<ShownDevice> StudyWorkers::shown() {
    std::vector<ShownDevice> shown;
    for (Device& device : devices_) {
        ShownDevice each{.name = device.what.name, .capacity_bytes = device.what.capacity_bytes};
        each.occupancy = [&pool = device.pool] { return pool.occupancy(); };
        if (device.shared) each.ledger = [&device] { return device.shared->reservations().entries(); };
        shown.push_back(std::move(each));
    }
    return shown;
}

}  // namespace hpo::tune
