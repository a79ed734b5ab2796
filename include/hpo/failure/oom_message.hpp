// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/core/memory_reading.hpp"

namespace hpo {

/// The figures in an allocator's out-of-memory message. A figure that the message does not give is absent.
struct OomMessage {
    std::optional<std::int64_t> requested_bytes;  ///< as printed: CUDA's allocator prints the segment that it asked the driver for
    std::optional<std::int64_t> process_bytes;    ///< all that this process holds on the device, its context included
    MemoryReading memory;
};

namespace detail {

/// Larger figures than 1 PiB mean "not available": NVML says 2^64 - 1.
inline constexpr double largest_credible_bytes = 0x1.0p50;

}  // namespace detail

/// Reads the figures in an out-of-memory message of PyTorch's device allocators (CUDA, HIP, XPU) in all forms since 0.4, and of our metered
/// CPU device. Returns nullopt if the text does not contain "Tried to allocate". A message that was cut anywhere gives the figures before
/// the cut. Sizes are printed with two decimals, so they are exact to 0.5 %.
[[nodiscard]] std::optional<OomMessage> parse_oom_message(std::string_view text);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/oom_message_inl.hpp"
#endif
