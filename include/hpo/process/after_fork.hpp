// SPDX-License-Identifier: MIT
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hpo {

// For a new process before it executes its program. If its parent has threads, only functions that are safe in a signal handler may be
// called there. So nothing here takes memory.

/// Calls `use(name)` for each entry of an open folder of /proc whose name is a number: in /proc a process, in /proc/self/fd a descriptor.
/// The name ends with a zero. Returns false if the folder cannot be read; errno says why.
template <class Use>
bool for_each_number_in(int folder, Use&& use) {
    struct Entry {  // what the kernel writes (getdents64)
        std::uint64_t inode;
        std::int64_t offset;
        unsigned short size;
        unsigned char type;
        char name[1];
    };
    alignas(Entry) std::array<char, 16384> entries;
    for (;;) {
        const long got = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
        if (got <= 0) return got == 0;
        for (long at = 0; at < got;) {
            const auto* const entry = reinterpret_cast<const Entry*>(entries.data() + at);
            at += entry->size;
            if (entry->name[0] >= '0' && entry->name[0] <= '9') use(static_cast<const char*>(entry->name));
        }
    }
}

/// The number that a text of digits shows.
[[nodiscard]] constexpr int number_named(const char* name) {
    int number = 0;
    for (; *name != '\0'; ++name) number = number * 10 + (*name - '0');
    return number;
}

/// Closes every descriptor of this process but those in `kept`, which is sorted. Returns false if that cannot be done; errno says why.
bool close_all_but(std::span<const int> kept) noexcept;

}  // namespace hpo
