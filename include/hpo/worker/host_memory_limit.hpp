// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace hpo::worker {

/// Lets the process take so many bytes beside what it has, while this object lives: what asks for more gets none (std::bad_alloc, or its
/// library's own error) instead of the machine's last page. Counts what is private and writable, threads' stacks included.
class HostMemoryLimit {
public:
    /// 0: no limit.
    explicit HostMemoryLimit(std::int64_t further_bytes) {
        if (further_bytes <= 0 || ::getrlimit(RLIMIT_DATA, &before_) != 0) return;
        std::uint64_t pages = 0;  // the sixth figure: data and stacks
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
