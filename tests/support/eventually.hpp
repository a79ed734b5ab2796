// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <thread>

namespace hpo::test {

/// Looks again and again whether `condition` holds, for at most `limit`, and returns whether it came to hold. It is for what the operating
/// system or another process does. The limit is only there so that a test that fails also ends.
template <class Condition, class Between>
[[nodiscard]] bool eventually(Condition&& condition, std::chrono::seconds limit, Between&& between) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        between();
    }
    return true;
}

template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition, std::chrono::seconds limit = std::chrono::seconds{60}) {
    return eventually(condition, limit, [] { std::this_thread::sleep_for(std::chrono::milliseconds{5}); });
}

}  // namespace hpo::test
