// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/memory_leak.hpp"

namespace hpo::worker {

/// Finds out from the marks of a process's attempts what it keeps allocated between them. What an allocator has reserved and not given
/// out is no leak; nor is what libraries take once, in the first attempt: their part is bounded by `most_one_time`, and is what later
/// attempts are held against. Growth is summed up, so that many small leaks are one.
///
/// Thread safety: none; the thread of the attempts.
class LeakWatch {
public:
    /// An attempt on this device begins.
    void begin(const std::string& device) {
        if (device_ != device) before_first_.reset();
        device_ = device;
        end_.reset();
    }
    void see(const MemoryMark& mark) {
        if (mark.name == "end") end_ = mark;
        if (mark.name != "trial_start" || before_first_ || !mark.reading.allocated) return;
        before_first_ = tolerated_ = mark.reading.allocated;
        is_first_ = true;
    }
    /// The attempt is over: a mark of name leak_mark where something is still held that may not be; nothing where there is none, or where
    /// the trainer marks no memory.
    [[nodiscard]] std::optional<MemoryMark> leak() {
        if (!before_first_ || !end_ || !end_->reading.allocated) return std::nullopt;
        const std::int64_t held = *end_->reading.allocated;
        if (held - *tolerated_ > (is_first_ ? most_one_time(end_->reading.capacity) : least_leak)) {
            MemoryMark mark{std::string{leak_mark}, end_->seconds, std::nullopt, {}};
            mark.reading.allocated = held - *before_first_;
            mark.reading.capacity = end_->reading.capacity;
            return mark;
        }
        if (is_first_) tolerated_ = std::max(*tolerated_, held);
        is_first_ = false;
        return std::nullopt;
    }

    static constexpr std::int64_t least_leak = 1 << 20;
    /// cuBLAS keeps up to 32 MiB of workspace on the newest GPUs, and no device should lose more than a twentieth this way.
    [[nodiscard]] static std::int64_t most_one_time(std::optional<std::int64_t> capacity_bytes) {
        constexpr std::int64_t libraries = 64 << 20;
        return capacity_bytes ? std::clamp(*capacity_bytes / 20, least_leak, libraries) : libraries;
    }

private:
    std::string device_;
    std::optional<std::int64_t> before_first_;  ///< what was held before the first attempt on the device
    std::optional<std::int64_t> tolerated_;     ///< and after it, when that was no leak
    std::optional<MemoryMark> end_;
    bool is_first_ = true;
};

}  // namespace hpo::worker
