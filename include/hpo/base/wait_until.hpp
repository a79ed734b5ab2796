// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "hpo/base/time.hpp"

namespace hpo {

struct WaitTerms {
    double most_seconds = 0;
    double pause_seconds = 0;  ///< between two looks
};

/// Looks again and again whether `done()` is true, and returns whether it came to be. It looks at least once, and a last time at the end of
/// the wait. It is for what no event tells.
template <class Done>
[[nodiscard]] bool wait_until(Done&& done, WaitTerms terms) {
    for (const Stopwatch waited; !done();) {
        const double left = terms.most_seconds - waited.seconds();
        if (left <= 0) return false;
        sleep_seconds(std::min(terms.pause_seconds, left));
    }
    return true;
}

}  // namespace hpo
