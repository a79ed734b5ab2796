// SPDX-License-Identifier: MIT
#include "allocator/snapshot/pickled_data.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hpo::allocator {

std::optional<std::int64_t> PickledData::integer(PickleValue value) const {
    using Kind = PickleValue::Kind;
    if (value.kind() == Kind::integer) return static_cast<std::int64_t>(value.bits) >> 4;
    if (value.kind() != Kind::large_integer) return std::nullopt;
    const LargeInteger& found = integers_[value.payload()];
    const auto whole = static_cast<std::int64_t>(found.low);
    if (!found.fits || (whole < 0) != found.negative) return std::nullopt;
    return whole;
}

std::optional<std::uint64_t> PickledData::natural(PickleValue value) const {
    if (value.kind() == PickleValue::Kind::large_integer) {
        const LargeInteger& found = integers_[value.payload()];
        return found.fits && !found.negative ? std::optional{found.low} : std::nullopt;
    }
    const auto found = integer(value);
    return found && *found >= 0 ? std::optional{static_cast<std::uint64_t>(*found)} : std::nullopt;
}

std::optional<double> PickledData::real(PickleValue value) const {
    if (value.kind() == PickleValue::Kind::real) return reals_[value.payload()];
    const auto whole = integer(value);
    return whole ? std::optional{static_cast<double>(*whole)} : std::nullopt;
}

std::optional<bool> PickledData::boolean(PickleValue value) const {
    if (value.kind() == PickleValue::Kind::boolean) return value.payload() != 0;
    return std::nullopt;
}

std::optional<std::string_view> PickledData::text(PickleValue value) const {
    if (value.kind() != PickleValue::Kind::text) return std::nullopt;
    return std::string_view{bytes_}.substr(value.payload() >> 20U, value.payload() & 0xFFFFFU);
}

std::span<const PickleValue> PickledData::list(PickleValue value) const {
    if (value.kind() != PickleValue::Kind::list) return {};
    return containers_[value.payload()];
}

std::span<const PickleValue> PickledData::dictionary(PickleValue value) const {
    if (value.kind() != PickleValue::Kind::dictionary) return {};
    return containers_[value.payload()];
}

std::optional<PickleValue> PickledData::find(PickleValue in, std::string_view key) const {
    const std::span<const PickleValue> entries = dictionary(in);
    for (std::size_t i = entries.size(); i >= 2; i -= 2) {  // the last one holds, as in Python
        if (text(entries[i - 2]) == key) return entries[i - 1];
    }
    return std::nullopt;
}

}  // namespace hpo::allocator
