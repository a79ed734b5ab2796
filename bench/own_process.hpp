// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace bench {

/// What `measure` returns, numbers, called in a process of its own, so that no run warms the heap or the threads of another. Nothing when
/// that process fails; why is on the standard error. Only for a program that has not used LibTorch itself.
template <class Measure>
[[nodiscard]] std::optional<std::vector<double>> tried_in_own_process(const Measure& measure) {
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
    if (::waitpid(child, &status, 0) != child || status != 0) return std::nullopt;
    return numbers;
}

/// The same. Ends the program when that process fails.
template <class Measure>
[[nodiscard]] std::vector<double> in_own_process(const Measure& measure) {
    std::optional<std::vector<double>> numbers = tried_in_own_process(measure);
    if (!numbers) {
        std::fprintf(stderr, "a measuring process failed\n");
        std::exit(1);
    }
    return std::move(*numbers);
}

}  // namespace bench
