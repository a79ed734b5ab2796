// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

namespace hpo {

/// Calls `step` until it returns, at most `most` times. Errors that it throws are dropped. Call it only where an earlier error is thrown
/// again afterwards.
template <class Step>
requires std::invocable<Step&>
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
