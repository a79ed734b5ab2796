// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace hpo::tests {

/// Memory of this process alone, of which each page is written to. Ends the process if there is none. ThreadSanitizer is left out, because
/// what it remembers of each write takes memory, too.
[[gnu::no_sanitize_thread]] inline void* filled_memory(std::int64_t bytes) {
    constexpr std::int64_t page = 4096;
    const auto size = static_cast<std::size_t>(bytes);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(3);
    ::madvise(memory, size, MADV_NOHUGEPAGE);
    for (std::int64_t at = 0; at < bytes; at += page) static_cast<volatile char*>(memory)[at] = 1;
    return memory;
}

}  // namespace hpo::tests
