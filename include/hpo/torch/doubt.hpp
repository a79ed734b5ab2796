// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace hpo::torch {

/// What a dry run came across whose memory it knows only roughly.
struct Doubt {
    double share = 0;  ///< by which the true peak may be higher; 0: none
    std::string of;    ///< the operator that says most of it; empty: none

    /// Notes one for the dry run that this thread is in.
    static void note(double share, std::string_view of) {
        Doubt& doubt = current();
        if (share > doubt.share) doubt = {share, std::string{of}};
    }
    /// What was noted in this thread since the last call.
    [[nodiscard]] static Doubt take() { return std::exchange(current(), {}); }

private:
    static Doubt& current() {
        thread_local Doubt doubt;
        return doubt;
    }
};

}  // namespace hpo::torch
