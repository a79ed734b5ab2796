// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/memory_leak.hpp"

namespace hpo::worker {

/// Finds out from the memory marks of a process's attempts what it keeps allocated between them. Memory that an allocator has reserved and
/// not given out is no leak, but may be too much to keep. Memory that libraries take once is no leak either, up to `most_one_time`. What is
/// held after the first attempt, within that bound, is the base. Later attempts are compared with it, so many small leaks add up to one.
/// Predictions and checks before the first attempt count as part of it.
///
/// Thread safety: none. Only the thread of the attempts calls it.
class LeakWatch {
public:
    /// An attempt on this device begins.
    void begin(const std::string& device) {
        if (device_ != device) tolerated_.reset();
        device_ = device;
        end_.reset();
    }
    void see(const MemoryMark& mark) {
        if (mark.name == "end") end_ = mark;
    }
    /// Call it after the attempt. Returns a mark named leak_mark if too much memory is still held. Returns nullopt if not, or if the
    /// trainer marks no memory.
    [[nodiscard]] std::optional<MemoryMark> leak() {
        if (!end_ || !end_->reading.allocated) return std::nullopt;
        const std::int64_t held = *end_->reading.allocated;
        if (held > (tolerated_ ? *tolerated_ + least_leak : most_one_time(end_->reading.capacity))) {
            MemoryMark mark{std::string{leak_mark}, end_->seconds, std::nullopt, {}};
            mark.reading.allocated = held;
            mark.reading.capacity = end_->reading.capacity;
            return mark;
        }
        if (!tolerated_) tolerated_ = held;
        return std::nullopt;
    }

    /// Call it after the attempt. Returns a mark named held_cache_mark if the allocator still keeps more than `most_one_time` that no
    /// tensor uses. No reservation counts that memory, so the next attempts of this and of other workers would lack it.
    [[nodiscard]] std::optional<MemoryMark> held_cache() const {
        if (!end_ || !end_->reading.allocated || !end_->reading.reserved) return std::nullopt;
        const std::int64_t unused = *end_->reading.reserved - *end_->reading.allocated;
        if (unused <= most_one_time(end_->reading.capacity)) return std::nullopt;
        MemoryMark mark{std::string{held_cache_mark}, end_->seconds, std::nullopt, {}};
        mark.reading.reserved = unused;
        mark.reading.capacity = end_->reading.capacity;
        return mark;
    }

    static constexpr std::int64_t least_leak = 1 << 20;
    /// cuBLAS keeps up to 32 MiB of workspace on the newest GPUs, and no device should lose more than a twentieth this way.
    [[nodiscard]] static std::int64_t most_one_time(std::optional<std::int64_t> capacity_bytes) {
        constexpr std::int64_t libraries = 64 << 20;
        return capacity_bytes ? std::clamp(*capacity_bytes / 20, least_leak, libraries) : libraries;
    }

private:
    std::string device_;
    std::optional<std::int64_t> tolerated_;  ///< held after the first attempt on the device, if that was no leak
    std::optional<MemoryMark> end_;
};

}  // namespace hpo::worker
