// SPDX-License-Identifier: MIT
// A library to preload. It adds the seconds that stand in the file of HPO_TEST_CLOCK_OFFSET to the system's time, as if somebody set the
// clock. The monotonic clock stays as it is.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const long status = ::syscall(SYS_clock_gettime, clock, now);
    if (status != 0 || clock != CLOCK_REALTIME) return static_cast<int>(status);
    const char* const name = std::getenv("HPO_TEST_CLOCK_OFFSET");
    std::FILE* const file = name ? std::fopen(name, "r") : nullptr;
    if (!file) return 0;
    long seconds = 0;
    if (std::fscanf(file, "%ld", &seconds) == 1) now->tv_sec += seconds;
    std::fclose(file);
    return 0;
}
