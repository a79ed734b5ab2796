// SPDX-License-Identifier: MIT
#include "hpo/process/after_fork.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

namespace hpo {
namespace detail {

/// The same by the list of open descriptors, because Linux before 5.9 has no close_range, and some sandboxes refuse it.
bool close_listed_but(std::span<const int> kept) noexcept {
    const auto is_kept = [&](int number) { return std::binary_search(kept.begin(), kept.end(), number); };
    const auto open_list = [] { return ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC); };
    int list = open_list();
    // If every number is taken, one of the first is not to be kept and makes room.
    for (int number = 0; list < 0 && errno == EMFILE && number <= static_cast<int>(kept.size()); ++number) {
        if (is_kept(number)) continue;
        ::close(number);
        list = open_list();
    }
    if (list < 0) return false;
    const bool is_read = for_each_number_in(list, [&](const char* name) {
        const int number = number_named(name);
        if (number != list && !is_kept(number)) ::close(number);
    });
    const int reason = errno;
    ::close(list);
    errno = reason;
    return is_read;
}

}  // namespace detail

bool close_all_but(std::span<const int> kept) noexcept {
    const auto close_range = [](unsigned first, unsigned last) { return ::syscall(SYS_close_range, first, last, 0) == 0; };
    unsigned from = 0;
    for (const int each : kept) {
        const auto number = static_cast<unsigned>(each);
        if (number > from && !close_range(from, number - 1)) return detail::close_listed_but(kept);
        from = number + 1;
    }
    return close_range(from, ~0U) || detail::close_listed_but(kept);
}

}  // namespace hpo
