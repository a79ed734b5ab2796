// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/analysis/oom.hpp"
#include "support/json.hpp"

namespace hpo::analyze {

/// "cuda:1" of hpo's plan, "GPU 1" of PyTorch's message; empty: not known.
[[nodiscard]] std::string device_place(const hpo::analysis::FailureCase& failed);

/// A device on which attempts ran out of memory.
struct FailedDevice {
    std::string place;                        ///< device_place
    std::string name;                         ///< "NVIDIA H100 80GB HBM3"; empty: not known
    std::optional<std::int64_t> least_bytes;  ///< its capacity, which may differ from run to run
    std::optional<std::int64_t> most_bytes;
    std::size_t attempts = 0;

    /// "cuda:1 (NVIDIA H100 80GB HBM3, 79.11 GiB)", "a device of 23.56 GiB".
    [[nodiscard]] std::string text() const;
};

/// The devices of the attempts that ran out of device memory, the one with most first. Where programs do not say which device it was,
/// devices are told apart by their capacity.
struct FailedDevices {
    std::vector<FailedDevice> devices;
    std::size_t unknown = 0;  ///< attempts whose device is not known
    std::size_t on_host = 0;  ///< attempts that ran out of host memory

    explicit FailedDevices(const hpo::analysis::OomReport& report);

    /// "device of 23.56 GiB" for one device, of which `usual` is the capacity. Of several "on 2 devices: 15 on GPU 0 (23.69 GiB), 13 on GPU
    /// 1 (23.56 GiB)". Empty if nothing is known.
    [[nodiscard]] std::string text(std::optional<std::int64_t> usual) const;
    [[nodiscard]] hpo::tools::Json json() const;
};

}  // namespace hpo::analyze
