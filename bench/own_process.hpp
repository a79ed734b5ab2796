// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace bench {

/// Calls `measure`, which returns numbers, in a process of its own, so that no run warms the heap or the threads of another; returns the
/// numbers. Ends the program when that process fails. Only for a program that has not used LibTorch itself.
template <class Measure>
[[nodiscard]] std::vector<double> in_own_process(const Measure& measure) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) {
        int status = 1;
        try {
            const std::vector<double> numbers = measure();
            const auto bytes = static_cast<ssize_t>(numbers.size() * sizeof(double));
            status = ::write(ends[1], numbers.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        ::_exit(status);
    }
    ::close(ends[1]);
    std::vector<double> numbers;
    for (double number = 0; ::read(ends[0], &number, sizeof number) == sizeof number;) numbers.push_back(number);
    ::close(ends[0]);
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) {
        std::fprintf(stderr, "a measuring process failed\n");
        std::exit(1);
    }
    return numbers;
}

}  // namespace bench
