// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo {

/// What attempts run on, and what runs them; empty texts are not known.
struct RunsOn {
    std::string device_name;  ///< as the driver or the system calls it: "NVIDIA H100 80GB HBM3"
    std::string trainer;
    friend bool operator==(const RunsOn&, const RunsOn&) = default;
};

}  // namespace hpo
