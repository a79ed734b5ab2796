// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "hpo/base/bytes.hpp"
#include "hpo/core/memory_reading.hpp"

namespace hpo::device {

/// The message of a metered device that refuses `requested_bytes`. It has the phrases of CUDA's caching allocator, so that one parser reads
/// both. Numbers that the reading lacks are left out.
[[nodiscard]] inline std::string out_of_memory_text(std::int64_t requested_bytes, const MemoryReading& reading) {
    std::string text = "CPU device out of memory. Tried to allocate " + format_bytes(requested_bytes) + ". ";
    if (reading.capacity && reading.free) {
        text += "The device has a total capacity of " + format_bytes(*reading.capacity) + " of which " + format_bytes(*reading.free) +
                " is free. ";
    }
    for (const MemoryNeighbour& neighbour : reading.neighbours) {
        text += "Process " + std::to_string(neighbour.pid) + " has " + format_bytes(neighbour.bytes) + " memory in use. ";
    }
    const std::int64_t allocated = reading.allocated.value_or(0);
    text += "Including non-PyTorch memory, this process has " + format_bytes(allocated) + " memory in use. ";
    if (reading.limit) text += format_bytes(*reading.limit) + " allowed; ";
    text += "Of the allocated memory " + format_bytes(allocated) + " is allocated by PyTorch, and " +
            format_bytes(reading.reserved.value_or(allocated) - allocated) + " is reserved by PyTorch but unallocated.";
    return text;
}

}  // namespace hpo::device
