// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/device/ledger.hpp"
#include "hpo/device/occupancy.hpp"

namespace hpo::tune {

/// A device as a display shows it.
struct ShownDevice {
    std::string name;                              ///< "cpu"
    std::optional<std::int64_t> capacity_bytes{};  ///< nothing: not known
    /// Who holds how much of it now; empty where nobody can say.
    std::function<std::optional<device::Occupancy>()> occupancy{};
    /// What is reserved of it for attempts, and what they wait for; empty where nobody counts that.
    std::function<std::vector<device::LedgerEntry>()> ledger{};
};

}  // namespace hpo::tune
