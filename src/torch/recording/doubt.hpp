// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace hpo::libtorch {

/// How uncertain a dry run is, because it knows the memory of some operators only roughly.
struct Doubt {
    double share = 0;  ///< the share by which the true peak may be higher; 0: none
    std::string of;    ///< the operator with the largest share; empty: none

    /// Notes a doubt for this thread's dry run.
    static void note(double share, std::string_view of) {
        Doubt& doubt = current();
        if (share > doubt.share) doubt = {share, std::string{of}};
    }
    /// What this thread noted since the last call.
    [[nodiscard]] static Doubt take() { return std::exchange(current(), {}); }

private:
    static Doubt& current() {
        thread_local Doubt doubt;
        return doubt;
    }
};

}  // namespace hpo::libtorch
