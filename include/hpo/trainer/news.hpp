// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hpo {

/// What a plugin tells by `tell`, with one member for each kind of news.
struct News {
    std::optional<std::int64_t> checkpoint{};  ///< Progress::checkpointed
    std::optional<std::int64_t> last_step{};   ///< Progress::last_step
    bool alive = false;                        ///< Progress::alive

    static constexpr void fields(auto field) {
        field("checkpoint", &News::checkpoint);
        field("last_step", &News::last_step);
        field("alive", &News::alive);
    }
};

/// The phase of a check that a trainer is in. It tells it by Progress::tell, so that a crash or a hang has a place.
struct PhaseNews {
    std::string phase;  ///< empty: the news is of another kind

    static constexpr void fields(auto field) { field("phase", &PhaseNews::phase); }
};

}  // namespace hpo
