// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "hpo/trainer/json_members.hpp"

namespace hpo {

/// One thing that a measurement of a device found (Trainer::measure).
struct DeviceFinding {
    enum class Level { ok, note, bad } level = Level::ok;  ///< a note is worth knowing and stops nothing
    std::string what;                                      ///< "allocation", "product"
    std::string detail;                                    ///< for a person: the figures, what was expected
    std::optional<double> seconds{};                       ///< what the measured work took
    std::optional<std::int64_t> bytes{};                   ///< what it moved or held
};
template <>
struct JsonNames<DeviceFinding::Level> {
    static constexpr std::array<std::string_view, 3> names{"ok", "note", "bad"};
};
template <>
struct JsonMembers<DeviceFinding> {
    using R = DeviceFinding;
    static constexpr std::tuple list{JsonMember{"level", &R::level}, JsonMember{"what", &R::what}, JsonMember{"detail", &R::detail},
                                     JsonMember{"seconds", &R::seconds}, JsonMember{"bytes", &R::bytes}};
};

}  // namespace hpo
