// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// Settings, and the text that they were read from.
struct WrittenSettings {
    AllocatorSettings settings{};
    std::string conf{};  ///< as PYTORCH_CUDA_ALLOC_CONF takes it
};

/// A trace as a memory snapshot of PyTorch, which its viewer opens: the events that the allocator's model makes of the trace, and its state
/// at the end. A block's stack is one frame: its scope as the function, its phase as the file. Segments lie far apart, since
/// their addresses on a GPU are not known. An event takes a microsecond, since times are not known either. Pickle protocol 4.
///
/// Throws Error for a trace that holds more than 2^50 bytes at a time.
[[nodiscard]] std::string encode_snapshot(const AllocationTrace& trace, const WrittenSettings& settings);

/// Writes the same to a file. Readers see the old file or the whole new one.
void write_snapshot(const std::filesystem::path& file, const AllocationTrace& trace, const WrittenSettings& settings);

}  // namespace hpo::allocator
