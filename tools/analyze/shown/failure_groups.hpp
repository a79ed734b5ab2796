// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/base/time.hpp"
#include "hpo/failure/traits.hpp"
#include "support/json.hpp"

namespace hpo::analyze {

/// Failures of one signature; of memory that ran out, those of one cause.
struct FailureGroup {
    std::string name;
    std::string label;  ///< the name, with a number if several groups have it: "crash 2"
    std::string line;   ///< the line of its first message that tells
    std::size_t count = 0;
    std::optional<double> seconds;  ///< of those whose time is known
    const hpo::analysis::FailureCase* first = nullptr;
    const hpo::analysis::FailureCase* last = nullptr;
    std::map<std::string, std::size_t> devices;    ///< how many on each; without those whose device is not known
    std::map<std::string, std::size_t> processes;  ///< how many in each worker or process; without those whose process is not known
    std::optional<hpo::Time> first_seen;           ///< the end of the earliest attempt of them that has a time
    std::optional<hpo::Time> last_seen;

    [[nodiscard]] hpo::FailureTraits traits() const;
    /// "on cuda:0 (3), cuda:1 (1); in worker 4711; 2026-11-21 09:37:09 to 10:02:40 UTC". Empty if nothing is known.
    [[nodiscard]] std::string where() const;
    [[nodiscard]] hpo::tools::Json json() const;
};

/// The groups with most failures first.
[[nodiscard]] std::vector<FailureGroup> failure_groups(const std::vector<hpo::analysis::FailureCase>& cases);

}  // namespace hpo::analyze
