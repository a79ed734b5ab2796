// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo {

/// The device that attempts run on, and the trainer that runs them. An empty text means unknown.
struct RunsOn {
    std::string device_name;  ///< the name that the driver or the system gives: "NVIDIA H100 80GB HBM3"
    std::string trainer;
    friend bool operator==(const RunsOn&, const RunsOn&) = default;
};

}  // namespace hpo
