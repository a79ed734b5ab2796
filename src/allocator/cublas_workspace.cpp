// SPDX-License-Identifier: MIT
#include "hpo/allocator/cublas_workspace.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace hpo::allocator {

std::optional<std::int64_t> configured_cublas_workspace_bytes(std::string_view text) {
    constexpr std::int64_t most_kib = std::int64_t{1} << 40;
    std::optional<std::int64_t> sum_kib;
    const auto number = [&](std::size_t& at) -> std::optional<std::int64_t> {
        std::int64_t value = 0;
        if (at >= text.size() || text[at] != ':') return std::nullopt;
        const auto read = std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
        if (read.ec != std::errc{} || value < 0 || value > most_kib) return std::nullopt;
        at = static_cast<std::size_t>(read.ptr - text.data());
        return value;
    };
    for (std::size_t at = 0; at < text.size();) {
        std::size_t next = at;
        const auto size = number(next);
        const auto count = size ? number(next) : std::nullopt;
        if (!count) {
            ++at;
            continue;
        }
        if (*count > 0 && *size > most_kib / *count) return std::nullopt;
        sum_kib = sum_kib.value_or(0) + *size * *count;
        if (*sum_kib > most_kib) return std::nullopt;
        at = next;
    }
    return sum_kib ? std::optional{*sum_kib * 1024} : std::nullopt;
}

}  // namespace hpo::allocator
