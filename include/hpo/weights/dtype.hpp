// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::weights {

/// The type of a stored tensor's elements. It has every type of the safetensors format.
enum class Dtype : std::uint8_t {
    boolean,
    f4,
    f6_e2m3,
    f6_e3m2,
    u8,
    i8,
    f8_e5m2,
    f8_e4m3,
    f8_e8m0,
    f8_e4m3fnuz,
    f8_e5m2fnuz,
    i16,
    u16,
    f16,
    bf16,
    i32,
    u32,
    f32,
    c64,
    f64,
    i64,
    u64,
};

struct DtypeEntry {
    Dtype dtype;
    std::string_view name;  ///< in a file's header
    std::uint32_t bits;     ///< of one element; if below 8, several elements share a byte
};

/// In the order of the enumeration.
inline constexpr std::array dtype_entries{
    DtypeEntry{Dtype::boolean, "BOOL", 8},
    DtypeEntry{Dtype::f4, "F4", 4},
    DtypeEntry{Dtype::f6_e2m3, "F6_E2M3", 6},
    DtypeEntry{Dtype::f6_e3m2, "F6_E3M2", 6},
    DtypeEntry{Dtype::u8, "U8", 8},
    DtypeEntry{Dtype::i8, "I8", 8},
    DtypeEntry{Dtype::f8_e5m2, "F8_E5M2", 8},
    DtypeEntry{Dtype::f8_e4m3, "F8_E4M3", 8},
    DtypeEntry{Dtype::f8_e8m0, "F8_E8M0", 8},
    DtypeEntry{Dtype::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    DtypeEntry{Dtype::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
    DtypeEntry{Dtype::i16, "I16", 16},
    DtypeEntry{Dtype::u16, "U16", 16},
    DtypeEntry{Dtype::f16, "F16", 16},
    DtypeEntry{Dtype::bf16, "BF16", 16},
    DtypeEntry{Dtype::i32, "I32", 32},
    DtypeEntry{Dtype::u32, "U32", 32},
    DtypeEntry{Dtype::f32, "F32", 32},
    DtypeEntry{Dtype::c64, "C64", 64},
    DtypeEntry{Dtype::f64, "F64", 64},
    DtypeEntry{Dtype::i64, "I64", 64},
    DtypeEntry{Dtype::u64, "U64", 64},
};

[[nodiscard]] constexpr const DtypeEntry& entry(Dtype dtype) noexcept { return dtype_entries[static_cast<std::size_t>(dtype)]; }

[[nodiscard]] constexpr std::optional<Dtype> find_dtype(std::string_view name) noexcept {
    for (const DtypeEntry& each : dtype_entries) {
        if (each.name == name) return each.dtype;
    }
    return std::nullopt;
}

[[nodiscard]] inline std::vector<std::string> dtype_names() {
    std::vector<std::string> names;
    for (const DtypeEntry& each : dtype_entries) names.emplace_back(each.name);
    return names;
}

static_assert([] {
    for (std::size_t i = 0; i < dtype_entries.size(); ++i) {
        if (static_cast<std::size_t>(dtype_entries[i].dtype) != i) return false;
    }
    return dtype_entries.back().dtype == Dtype::u64;
}());

}  // namespace hpo::weights
