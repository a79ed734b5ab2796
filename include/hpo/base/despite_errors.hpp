// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

namespace hpo {

/// Calls `step` until it returns, at most `most` times. What it throws is dropped, so call it while an earlier error is on its way.
template <std::invocable Step>
void despite_errors(std::size_t most, Step&& step) {
    while (most-- > 0) {
        try {
            step();
            return;
        } catch (...) {  // the earlier error is the one to tell
        }
    }
}

}  // namespace hpo
