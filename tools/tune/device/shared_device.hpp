// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "hpo/device/ledger_reservations.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// Throws Error for a file of `--ledger` that is no ledger, and for one that cannot be made. Makes nothing.
void require_usable_ledger(const Settings& settings);

/// The device's memory as a run shares it: with its own attempts, and with other runs that name the same ledger.
class SharedDevice {
public:
    /// The largest share of the device that may be reserved for each of two attempts, with the 64th that the ledger adds.
    static constexpr double half = 0.49;
    /// By `--ledger`: a file, with the device in its name where the run has several; or auto, which for a GPU is one file for all of this
    /// user's runs on it, and otherwise the run's own. `note` is told what the user should know. Throws Error where there can be no ledger.
    SharedDevice(const Settings& settings, const std::string& device, std::int64_t budget_bytes,
                 std::function<void(const std::string&)> note);
    SharedDevice(const SharedDevice&) = delete;
    SharedDevice& operator=(const SharedDevice&) = delete;
    ~SharedDevice();

    [[nodiscard]] device::LedgerReservations& reservations() { return *reservations_; }

private:
    std::filesystem::path own_file_;  ///< to be removed; empty: others use it, too
    std::optional<device::LedgerReservations> reservations_;
};

}  // namespace hpo::tune
