// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "hpo/core/memory_reading.hpp"

namespace hpo {

/// The figures in an allocator's out-of-memory message. A figure that the message does not give is absent.
struct OomMessage {
    std::optional<std::int64_t> requested_bytes;  ///< as printed: CUDA's allocator prints the segment that it asked the driver for
    std::optional<std::int64_t> process_bytes;    ///< all that this process holds on the device, its context included
    MemoryReading memory;
};

namespace detail {

/// Larger figures than 1 PiB mean "not available": NVML says 2^64 - 1.
inline constexpr double largest_credible_bytes = 0x1.0p50;

}  // namespace detail

/// Reads the figures in an out-of-memory message of PyTorch's device allocators (CUDA, HIP, XPU) in all forms since 0.4, and of our metered
/// CPU device. Returns nullopt if the text does not contain "Tried to allocate". A message that was cut anywhere gives the figures before
/// the cut. Sizes are printed with two decimals, so they are exact to 0.5 %.
[[nodiscard]] std::optional<OomMessage> parse_oom_message(std::string_view text);

}  // namespace hpo

namespace hpo::detail {

struct ScannedSize {
    std::optional<std::int64_t> bytes;  ///< nullopt: a size, but not a credible one
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// The next "<number> <unit>" at or after `from`, or nullopt. A number at the very beginning of the text is skipped, because it may have
/// lost digits.
[[nodiscard]] inline std::optional<ScannedSize> next_size(std::string_view text, std::size_t from) {
    const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    for (std::size_t i = from; i < text.size(); ++i) {
        if (!digit(i) || (i > 0 && (digit(i - 1) || text[i - 1] == '.'))) continue;
        double number = 0;
        const auto [stop, status] = std::from_chars(text.data() + i, text.data() + text.size(), number, std::chars_format::fixed);
        if (status != std::errc{} && status != std::errc::result_out_of_range) continue;
        if (status == std::errc::result_out_of_range) number = HUGE_VAL;
        auto end = static_cast<std::size_t>(stop - text.data());
        if (end >= text.size() || text[end] != ' ') continue;
        ++end;
        double scale = 0;
        for (const auto& [unit, bytes] : {std::pair{std::string_view{"bytes"}, 1.0}, std::pair{std::string_view{"KiB"}, 0x1.0p10},
                                          std::pair{std::string_view{"MiB"}, 0x1.0p20}, std::pair{std::string_view{"GiB"}, 0x1.0p30},
                                          std::pair{std::string_view{"TiB"}, 0x1.0p40}}) {
            if (!text.substr(end).starts_with(unit)) continue;
            scale = bytes;
            end += unit.size();
            break;
        }
        if (scale == 0 || i == 0) continue;
        const double bytes = std::round(number * scale);
        ScannedSize size{.bytes = std::nullopt, .begin = i, .end = end};
        if (bytes >= 0 && bytes <= largest_credible_bytes) size.bytes = static_cast<std::int64_t>(bytes);
        return size;
    }
    return std::nullopt;
}

/// The pid if the text ends in "... Process 79944 has ".
[[nodiscard]] inline std::optional<std::int64_t> pid_before(std::string_view before) {
    constexpr std::string_view has = " has ";
    constexpr std::string_view process = "Process ";
    if (!before.ends_with(has)) return std::nullopt;
    before.remove_suffix(has.size());
    const auto at = before.rfind(process);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view digits = before.substr(at + process.size());
    std::int64_t pid = 0;
    const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    if (status != std::errc{} || stop != digits.data() + digits.size() || digits.empty()) return std::nullopt;
    return pid;
}

/// In a container, a process does not know its own pid outside, so the message lists it among the other processes. The process that can
/// hold our allocator's memory, with no more beyond it than a context, is our own.
inline void take_own_process_out(OomMessage& message) {
    auto& neighbours = message.memory.neighbours;
    if (message.process_bytes || neighbours.empty() || !message.memory.reserved) return;
    constexpr std::int64_t context = std::int64_t{3} << 29U;  // 1.5 GiB
    auto own = neighbours.end();
    for (auto it = neighbours.begin(); it != neighbours.end(); ++it) {
        const std::int64_t beyond = it->bytes - *message.memory.reserved;
        if (beyond < -(std::int64_t{1} << 25U) || beyond > context) continue;
        if (own == neighbours.end() || it->bytes < own->bytes) own = it;
    }
    if (own == neighbours.end()) return;
    message.process_bytes = own->bytes;
    neighbours.erase(own);
}

}  // namespace hpo::detail

namespace hpo {

inline std::optional<OomMessage> parse_oom_message(std::string_view text) {
    constexpr std::string_view tried = "Tried to allocate ";
    const auto start = text.find(tried);
    if (start == std::string_view::npos) return std::nullopt;
    // Keeps one message only. A traceback may repeat it, and other text may stand before it.
    const auto again = text.find(tried, start + tried.size());
    text = text.substr(start, again == std::string_view::npos ? again : again - start);

    OomMessage message;
    MemoryReading& memory = message.memory;
    std::optional<std::int64_t> unallocated;
    bool lists_itself = false;
    const auto put = [](std::optional<std::int64_t>& slot, const std::optional<std::int64_t>& bytes) {
        if (!slot) slot = bytes;
    };
    for (auto size = detail::next_size(text, 0); size; size = detail::next_size(text, size->end)) {
        const std::string_view before = text.substr(0, size->begin);
        const std::string_view after = text.substr(size->end);
        const auto followed_by = [&](std::string_view phrase) { return after.starts_with(phrase); };
        if (before.ends_with(tried)) put(message.requested_bytes, size->bytes);
        else if (before.ends_with("total capacity of ") || before.ends_with("total capacty of ") || followed_by(" total capacity"))
            put(memory.capacity, size->bytes);
        else if (followed_by(" is free") || followed_by(" free")) put(memory.free, size->bytes);
        else if (followed_by(" allowed")) put(memory.limit, size->bytes);
        else if (followed_by(" already allocated") || followed_by(" is allocated by ")) put(memory.allocated, size->bytes);
        else if (followed_by(" reserved in total by ")) put(memory.reserved, size->bytes);
        // Up to 1.3, "cached" was the memory that the allocator kept besides the allocated memory.
        else if (followed_by(" is reserved by PyTorch but unallocated") || followed_by(" is reserved but unallocated") ||
                 followed_by(" cached"))
            put(unallocated, size->bytes);
        else if (followed_by(" memory in use") && before.ends_with("this process has ")) {
            put(message.process_bytes, size->bytes);
            lists_itself = true;
        } else if (followed_by(" memory in use")) {
            if (const auto pid = detail::pid_before(before); pid && size->bytes)
                memory.neighbours.push_back({.pid = *pid, .bytes = *size->bytes});
        }
    }
    if (!memory.reserved && memory.allocated && unallocated) memory.reserved = *memory.allocated + *unallocated;
    if (memory.reserved && memory.allocated && *memory.reserved < *memory.allocated) memory.reserved.reset();  // impossible
    // No more than all can be used or free. Figures of a line that was cut within a number do not add up.
    if (memory.capacity) {
        const std::int64_t most = *memory.capacity + *memory.capacity / 50;
        if (memory.allocated > most || memory.reserved > most || memory.free > most) memory = {};
    }
    if (!lists_itself) detail::take_own_process_out(message);
    return message;
}

}  // namespace hpo
