// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "hpo/device/ledger.hpp"
#include "settings.hpp"

namespace hpo::tune {

/// The device's memory as a run shares it: with its own attempts, and with other runs that name the same ledger.
class SharedDevice {
public:
    /// By `--ledger`: a file; or auto, which for a GPU is one file for all of this user's runs on it, and otherwise the run's own. `note`
    /// is told once when an attempt must wait. Throws Error where there can be no ledger.
    SharedDevice(const Settings& settings, const std::string& device, std::int64_t budget_bytes,
                 std::function<void(const std::string&)> note);
    SharedDevice(const SharedDevice&) = delete;
    SharedDevice& operator=(const SharedDevice&) = delete;
    ~SharedDevice();

    /// What an attempt that needs more than the device has asks for is the whole of it: it runs alone.
    [[nodiscard]] bool takes(std::int64_t trial, std::int64_t need_bytes);
    void leaves(std::int64_t trial);

private:
    std::int64_t budget_bytes_;
    std::function<void(const std::string&)> note_;
    std::filesystem::path own_file_;  ///< to be removed; empty: others use it, too
    std::optional<device::Ledger> ledger_;
};

}  // namespace hpo::tune
