// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/torch/attempt.hpp"
#include "hpo/trainer/device_finding.hpp"

namespace hpo::libtorch {

/// Measures an attempt's device with LibTorch: what it counts, copies, multiplies, adds, refuses and gives back. It takes at most 64 MiB,
/// and at most an eighth of the device. It draws no number from LibTorch's own generators. The same code measures the CPU and a GPU.
///
/// On a virtual card nothing is computed, so values are neither compared nor timed there. A finding says so.
///
/// Thread safety: the attempt's thread.
class DeviceMeasurement {
public:
    /// Findings are appended to the list.
    DeviceMeasurement(RunningAttempt& attempt, std::vector<DeviceFinding>& findings);

    /// Makes every measurement. One that throws is a bad finding, and no other follows it.
    void make();

private:
    static constexpr const char* not_compared = "; neither compared nor timed, because a virtual card computes nothing";

    /// The seconds that `work` takes until the device has done it.
    template <class Work>
    double timed(const Work& work) const;
    template <class Measure>
    bool guarded(std::string_view what, const Measure& measure);

    void runtime();
    /// Takes memory, and sees that the allocator and the device count it.
    void allocation();
    /// Copies bytes to the device and back. They must be the same bits.
    void copy();
    /// Multiplies two matrices, and compares with the product in fp64 on the CPU.
    void product();
    /// Adds whole numbers whose sum every order of adding gives exactly.
    void reduction();
    /// Asks for more than the device has. That must be refused as out of memory, and the device must work on.
    void refusal();
    /// Gives everything back, and sees that it came back.
    void release();
    /// Takes memory with expandable segments, on a GPU.
    void expandable_segments();

    void add(DeviceFinding::Level level, std::string_view what, std::string detail);
    /// The figures of the latest finding.
    void took(double seconds, std::optional<std::int64_t> bytes = {}) {
        findings_.back().seconds = seconds;
        findings_.back().bytes = bytes;
    }

    RunningAttempt& attempt_;
    std::vector<DeviceFinding>& findings_;
    torch::Device device_;
    bool computes_;           ///< false on a virtual card
    std::int64_t bytes_ = 0;  ///< of the block that is held
    MemoryReading before_;    ///< before anything was taken
    MemoryReading held_;      ///< with the block
    torch::Tensor block_;
};

}  // namespace hpo::libtorch
