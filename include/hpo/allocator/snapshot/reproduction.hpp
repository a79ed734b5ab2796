// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/allocator/settings.hpp"
#include "hpo/allocator/snapshot/device_history.hpp"

namespace hpo::allocator {

/// What the allocator held after a request, in bytes.
struct HeldAfter {
    std::int64_t allocated =
        0;  ///< by the model; from the first difference on only the sum of the live blocks' rounded sizes, which is less
    std::int64_t reserved = 0;  ///< as recorded
};

/// How far the model's replay of a recording, with its own settings, is what was recorded. The device's answers are taken from the
/// recording: where memory was given back within a request, the device had refused.
struct Reproduction {
    std::size_t allocations = 0;                  ///< requests that were served
    std::size_t same_address = 0;                 ///< of them, those that the model gives the recorded address
    std::size_t segment_changes = 0;              ///< segments, or pages, taken and given back
    std::size_t same_changes = 0;                 ///< of them, those that the model takes or gives back in the same request
    std::size_t other_changes = 0;                ///< what the model takes or gives back beside them
    std::int64_t recorded_peak = 0;               ///< bytes reserved
    std::int64_t model_peak = 0;                  ///< bytes reserved
    std::size_t retries = 0;                      ///< requests that the device refused at first
    std::size_t unexplained = 0;                  ///< of them, those that empty_cache() may have been called before instead
    std::vector<std::size_t> emptied{};           ///< indexes of requests that it must have been called before
    std::size_t refused = 0;                      ///< requests that ran out of memory
    std::size_t same_refused = 0;                 ///< of them, those that ran out in the model
    std::vector<HeldAfter> held;                  ///< after each request
    std::optional<std::size_t> first_difference;  ///< index of a request

    /// True if all is as recorded.
    [[nodiscard]] bool exact() const {
        return same_address == allocations && same_changes == segment_changes && recorded_peak == model_peak && same_refused == refused &&
               !first_difference;
    }
};

/// Replays a recording through the model of the allocator. O(events * log(cached blocks)).
[[nodiscard]] Reproduction reproduce(const DeviceHistory& history, const AllocatorSettings& settings);

/// The same, but the device answers by its capacity alone. Returns the requests that the model ran out of memory at.
[[nodiscard]] std::vector<std::size_t> refused_at_capacity(const DeviceHistory& history, const AllocatorSettings& settings,
                                                           std::int64_t capacity_bytes);

}  // namespace hpo::allocator
