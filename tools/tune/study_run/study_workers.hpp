// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/store/sqlite/stored_predictions.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/tuner/devices/devices.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "tune/device/run_devices.hpp"
#include "tune/device/shared_device.hpp"
#include "tune/display/shown_device.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// The workers of a run on each of its devices, with the memory that they share and the predictions that they remember.
class StudyWorkers {
public:
    using Note = std::function<void(const std::string&)>;

    /// Starts the first worker of each device. `note` is told what goes wrong and costs no attempt. Throws Error{plugin} if the trainer
    /// cannot be had.
    StudyWorkers(const Settings& settings, const TrainerInfo& info, const std::vector<RunDevice>& devices, Note note);
    StudyWorkers(const StudyWorkers&) = delete;
    StudyWorkers& operator=(const StudyWorkers&) = delete;
    ~StudyWorkers() = default;

    /// Lets attempts reserve the memory of devices, as `tune` then says, if that memory is known and anybody else may take of it.
    void share_devices(const Settings& settings, const TrainerInfo& info, bool guard_looks, TuneOptions& tune);
    /// From now on predictions are kept in the store. Those of before are, too.
    void keep_predictions_in(const std::string& store, const store::PatienceOptions& patience);

    /// The workers on the device with the most memory: what does not fit there fits nowhere.
    [[nodiscard]] worker::Pool& largest_pool() { return largest().pool; }
    [[nodiscard]] const RunDevice& largest_device() { return largest().what; }
    /// The devices for the tuner. `predicts` is TuneDevice::predicts.
    [[nodiscard]] std::vector<TuneDevice> devices(bool predicts);
    /// The devices for a display. It asks this object while it draws.
    [[nodiscard]] std::vector<ShownDevice> shown();

private:
    /// Design note: the pool asks the ledger, and so it is the last member and ends first. The ledger asks the pool only while the tuner
    /// reserves memory.
    struct Device {
        Device(StudyWorkers& owner, const Settings& settings, const TrainerInfo& info, const RunDevice& device)
            : what{device}, pool{owner.config(*this, settings, info)} {}

        RunDevice what;
        std::optional<SharedDevice> shared{};
        worker::Pool pool;
    };

    [[nodiscard]] Device& largest();
    [[nodiscard]] worker::PoolConfig config(Device& device, const Settings& settings, const TrainerInfo& info);

    Note note_;
    [[nodiscard]] std::optional<std::string> recall(const std::string& key);
    void keep(const std::string& key, const std::string& text);

    std::unique_ptr<store::StoredPredictions> predictions_;     ///< null: there is no store, or none yet
    bool keeps_ = false;                                        ///< the store is known to be one
    std::vector<std::pair<std::string, std::string>> waiting_;  ///< to be kept then
    std::shared_ptr<worker::EventLoop> loop_ = std::make_shared<worker::EventLoop>();
    std::deque<Device> devices_;
};

}  // namespace hpo::tune
