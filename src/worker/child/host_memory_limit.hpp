// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace hpo::worker {

/// Limits how many more bytes the process may take while this object lives. An allocation above that fails (std::bad_alloc, or a library's
/// own error), so that the machine does not run out of memory. Private writable memory counts, also the stacks of threads.
///
/// Design note: built with AddressSanitizer or ThreadSanitizer it sets no limit. Their allocators end the process where memory is refused.
class HostMemoryLimit {
public:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    static constexpr bool limits = false;
#else
    static constexpr bool limits = true;
#endif

    /// 0: no limit.
    explicit HostMemoryLimit(std::int64_t further_bytes) {
        if (!limits || further_bytes <= 0 || ::getrlimit(RLIMIT_DATA, &before_) != 0) return;
        std::uint64_t pages = 0;  // the sixth number: data and stacks
        std::ifstream figures{"/proc/self/statm"};
        for (int figure = 0; figure < 6; ++figure) figures >> pages;
        if (!figures) return;
        ::rlimit limit = before_;
        limit.rlim_cur = std::min<::rlim_t>(
            before_.rlim_cur, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + static_cast<std::uint64_t>(further_bytes));
        set_ = ::setrlimit(RLIMIT_DATA, &limit) == 0;
    }
    HostMemoryLimit(const HostMemoryLimit&) = delete;
    HostMemoryLimit& operator=(const HostMemoryLimit&) = delete;
    ~HostMemoryLimit() {
        if (set_) ::setrlimit(RLIMIT_DATA, &before_);
    }

private:
    ::rlimit before_{};
    bool set_ = false;
};

}  // namespace hpo::worker
