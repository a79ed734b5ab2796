// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/device/ledger.hpp"
#include "hpo/store/sqlite/stored_predictions.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "tune/device/shared_device.hpp"
#include "tune/device/surroundings.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// The device of a run, and how many work on it.
struct RunDevice {
    std::string name;                            ///< "cpu", "cuda:0"
    std::optional<std::int64_t> capacity_bytes;  ///< nothing: not known
    Parallelism parallel{};
};

/// The workers of a run, with the device's memory that they share and the predictions that they remember.
///
/// Design note: the pool asks the ledger and the stored predictions, and so it is the last member and ends first. The ledger asks the pool
/// only while the tuner reserves memory.
class StudyWorkers {
public:
    using Note = std::function<void(const std::string&)>;

    /// Starts the first worker. `note` is told what goes wrong and costs no attempt. Throws Error{plugin} if the trainer cannot be had.
    StudyWorkers(const Settings& settings, const TrainerInfo& info, const RunDevice& device, Note note);
    StudyWorkers(const StudyWorkers&) = delete;
    StudyWorkers& operator=(const StudyWorkers&) = delete;
    ~StudyWorkers() = default;

    /// Lets attempts reserve the device's memory, as `tune` then says, if that memory is known and anybody else may take of it.
    void share_device(const Settings& settings, const TrainerInfo& info, const RunDevice& device, bool guard_looks, TuneOptions& tune);
    /// From now on predictions are read from the store and kept there.
    void keep_predictions_in(const std::string& store) { predictions_.emplace(store); }

    [[nodiscard]] worker::Pool& pool() { return pool_; }
    [[nodiscard]] bool shares_device() const { return shared_.has_value(); }
    /// Of a device that is shared.
    [[nodiscard]] std::vector<device::LedgerEntry> ledger_entries() { return shared_->reservations().entries(); }

private:
    [[nodiscard]] worker::PoolConfig config(const Settings& settings, const TrainerInfo& info, const RunDevice& device);

    Note note_;
    std::optional<SharedDevice> shared_;
    std::optional<store::StoredPredictions> predictions_;  ///< once the store is known to be one
    worker::Pool pool_;
};

}  // namespace hpo::tune
