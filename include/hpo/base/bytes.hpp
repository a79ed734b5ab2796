// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpo {

/// "1.5 GiB": two decimals above 1 KiB, as PyTorch's messages write sizes.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

/// Reads "600MiB", "1.5 GiB", "11GB", "4096", "1e9". Binary units end in iB, decimal ones in B, and a bare number is bytes. Returns nullopt
/// if the text is not a size, if it is negative, and if it is more than 2^62 bytes.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);

/// As parse_bytes, but throws an Error that names the place.
[[nodiscard]] std::int64_t require_bytes(std::string_view place, std::string_view text);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/base/impl/bytes_inl.hpp"
#endif
