// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/environment.hpp"

namespace hpo::worker {

class EventLoop;

struct PoolConfig {
    std::filesystem::path worker_program;  ///< hpo-worker
    std::string trainer;
    std::vector<std::filesystem::path> plugin_folders;  ///< searched before those that hpo-worker knows itself
    Values options;                                     ///< fixed for all jobs
    std::string metric;                                 ///< empty: the trainer's first metric
    std::vector<std::string> objectives{};              ///< TrainerJob::objectives
    std::size_t workers = 1;
    int threads = 1;  ///< for each worker
    /// How much of the device all workers together may take, in bytes. On "cpu", a metered device of this size is made.
    std::optional<std::int64_t> device_budget_bytes;
    std::string device = "cpu";
    std::string device_name;                               ///< RunsOn::device_name; empty: not known
    std::optional<std::int64_t> cublas_workspace_bytes{};  ///< TrainerJob::cublas_workspace_bytes
    std::optional<std::int64_t> cuda_context_bytes{};      ///< TrainerJob::cuda_context_bytes
    /// The card's figures and the environment of the worker that predicts on a virtual card (PeakSource::virtual_card). Nullopt: there is
    /// no such card.
    struct VirtualCard {
        std::string figures;
        Environment environment;
    };
    std::optional<VirtualCard> virtual_card{};
    std::string why_no_virtual_card = "there is no virtual card for this device";
    std::filesystem::path log_folder;  ///< for worker-N.log; must exist. Empty: output is only kept for failures
    Environment environment = inherited_environment();
    std::filesystem::path account_folder = "/dev/shm";  ///< where a metered device's account lies while the pool lives

    std::shared_ptr<EventLoop> loop{};  ///< shared with the run's other pools; null: a loop of its own

    std::chrono::milliseconds start_timeout{60'000};  ///< from a worker's start until it must be ready
    std::chrono::milliseconds check_timeout{60'000};  ///< for the answer to a check; ask it before a study runs
    /// For the answer to a profile. The event loop waits for it. So keep it below the time after which a store counts a study without
    /// heartbeats as dead.
    std::chrono::milliseconds profile_timeout{20'000};
    std::chrono::milliseconds prediction_timeout{10'000};         ///< for the answer of a dry run or a probe; the event loop waits too
    std::int64_t question_memory_bytes = std::int64_t{4} << 30U;  ///< more host memory that a worker may take to answer a question
    std::int64_t worker_attempts = 0;                             ///< a worker is replaced after so many attempts; 0: never
    std::chrono::milliseconds release_timeout{10'000};            ///< for a GPU to get back the memory of a worker that is gone
    std::optional<std::chrono::milliseconds> attempt_time{};      ///< most that an attempt may take; it is then asked to stop, and ended
    std::optional<std::chrono::milliseconds> silence_time{};      ///< most that a running worker may say nothing; it is then ended
    std::chrono::milliseconds stop_grace{10'000};                 ///< from a request to stop until SIGTERM
    std::chrono::milliseconds kill_grace{2'000};                  ///< from SIGTERM until SIGKILL

    /// They keep predictions and what trainers keep longer than the pool lives, as text by key. Both may be empty. If a recalled text
    /// cannot be read, the prediction is made again.
    std::function<std::optional<std::string>(const std::string& key)> recall;
    std::function<void(const std::string& key, const std::string& text)> keep;

    /// Asked several times a second while a question waits for its answer. If it returns true, the pool stops waiting. May be empty.
    std::function<bool()> stop_requested;

    /// Processes whose workers take their memory from the same ledger. They do not count as other processes on the device. May be empty.
    std::function<std::vector<std::int64_t>()> ledger_owners;

    /// Gives the Xids of the device (XidNotes::Source). If empty, NVIDIA's driver is asked, where the device is one of its cards.
    std::function<std::vector<int>(bool patiently)> xids;

    /// Receives one line for each trouble that costs no attempt. May be empty.
    std::function<void(const std::string&)> note;
};

}  // namespace hpo::worker
