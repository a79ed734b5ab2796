// SPDX-License-Identifier: MIT
#include "shared_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "hpo/core/bytes.hpp"

namespace hpo::tune {
namespace {

/// "cuda:1" as a part of a file's name.
std::string file_word(std::string device) {
    std::replace(device.begin(), device.end(), ':', '-');
    return device;
}

}  // namespace

SharedDevice::SharedDevice(const Settings& settings, const std::string& device, std::int64_t budget_bytes,
                           std::function<void(const std::string&)> note)
    : budget_bytes_{budget_bytes}, note_{std::move(note)} {
    const std::string& chosen = settings.text("ledger");
    if (chosen.empty()) throw bad_value(settings.place("ledger"), "nothing", "auto, or a file");
    std::filesystem::path file = chosen;
    if (chosen == "auto") {
        static std::atomic<int> made{0};
        const std::filesystem::path folder = "/dev/shm";
        const bool shared = device != "cpu";
        file = folder / (shared ? "hpo-ledger-" + std::to_string(::geteuid()) + "-" + file_word(device)
                                : "hpo-ledger-of-" + std::to_string(::getpid()) + "-" + std::to_string(made++));
        if (!shared) own_file_ = file;
    }
    if (!own_file_.empty()) std::filesystem::remove(own_file_);  // of a process that had this id and was killed
    ledger_.emplace(std::filesystem::absolute(file));
}

SharedDevice::~SharedDevice() {
    std::error_code ignored;
    if (!own_file_.empty()) std::filesystem::remove(own_file_, ignored);
}

bool SharedDevice::takes(std::int64_t trial, std::int64_t need_bytes) {
    const std::int64_t asked = std::min(need_bytes, budget_bytes_);
    if (ledger_->ask({.trial = trial, .bytes = asked, .budget_bytes = budget_bytes_}) == device::Ledger::Answer::granted) return true;
    if (const auto note = std::exchange(note_, nullptr)) {
        std::int64_t promised = 0;
        for (const device::LedgerEntry& entry : ledger_->entries()) promised += entry.granted ? entry.bytes : 0;
        note("trial " + std::to_string(trial) + " waits for " + format_bytes(asked) + " of the device: " + format_bytes(promised) + " of " +
             format_bytes(budget_bytes_) + " are promised to others");
    }
    return false;
}

void SharedDevice::leaves(std::int64_t trial) { ledger_->give_back(trial); }

}  // namespace hpo::tune
