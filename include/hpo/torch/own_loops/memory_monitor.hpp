// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "hpo/core/memory_reading.hpp"

namespace hpo::libtorch {

/// The memory of a stretch of a program, in bytes.
struct MonitoredMemory {
    MemoryReading begin;
    MemoryReading end;  ///< its peaks are those of the stretch

    /// What the stretch took and kept.
    [[nodiscard]] std::int64_t kept() const { return end.allocated.value_or(0) - begin.allocated.value_or(0); }
    /// The most that live tensors held at one time.
    [[nodiscard]] std::int64_t peak_allocated() const { return end.peak_allocated.value_or(0); }
    /// The most that the allocator held at one time, including its cache. This is what a device needs.
    [[nodiscard]] std::int64_t peak_reserved() const { return end.peak_reserved.value_or(0); }
};

/// Measures a device's memory from its construction on, as this process's allocator counts it: all threads together.
///
/// On the CPU it counts what MeteredAllocator gives (metered_allocator.hpp). Install that before the first tensor.
class MemoryMonitor {
public:
    /// Resets the allocator's peak. Throws Error if another monitor watches the device, since there is one peak only, or if nothing counts
    /// the device's memory.
    explicit MemoryMonitor(c10::Device device);
    ~MemoryMonitor();
    MemoryMonitor(const MemoryMonitor&) = delete;
    MemoryMonitor& operator=(const MemoryMonitor&) = delete;

    /// The use so far.
    [[nodiscard]] MonitoredMemory use() const;

private:
    c10::Device device_;
    MemoryReading begin_;
};

}  // namespace hpo::libtorch
