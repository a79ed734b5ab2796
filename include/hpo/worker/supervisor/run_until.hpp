// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>

namespace hpo::worker {

/// Runs an event loop until `done()` returns true or the time is over.
template <class Done>
void run_until(boost::asio::io_context& loop, std::chrono::duration<double> timeout, Done&& done) {
    auto now = std::chrono::steady_clock::now();
    const auto deadline = now + std::chrono::ceil<std::chrono::nanoseconds>(timeout);
    constexpr std::chrono::milliseconds longest{100};  // `done` may depend on things outside of the loop
    loop.restart();
    for (; !done() && now < deadline; now = std::chrono::steady_clock::now()) loop.run_one_until(std::min(deadline, now + longest));
}

}  // namespace hpo::worker
