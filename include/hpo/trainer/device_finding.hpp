// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/fields.hpp"

namespace hpo {

/// One thing that a measurement of a device found (Trainer::measure).
struct DeviceFinding {
    enum class Level { ok, note, bad } level = Level::ok;  ///< a note is worth knowing and stops nothing
    std::string what;                                      ///< "allocation", "product"
    std::string detail;                                    ///< for a person: the figures, what was expected
    std::optional<double> seconds{};                       ///< what the measured work took
    std::optional<std::int64_t> bytes{};                   ///< what it moved or held

    static constexpr void fields(auto field) {
        field("level", &DeviceFinding::level);
        field("what", &DeviceFinding::what);
        field("detail", &DeviceFinding::detail);
        field("seconds", &DeviceFinding::seconds);
        field("bytes", &DeviceFinding::bytes);
    }
};
template <>
struct EnumNames<DeviceFinding::Level> {
    static constexpr std::array<std::string_view, 3> names{"ok", "note", "bad"};
};
}  // namespace hpo
