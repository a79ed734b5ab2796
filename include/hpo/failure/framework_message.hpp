// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "hpo/failure/oom_message.hpp"

namespace hpo {

/// Reads the figures in out-of-memory messages of other frameworks: JAX and XLA ("while trying to allocate 2147483648 bytes"), TensorFlow
/// (from the tensor's shape and type), CuPy, CatBoost, XGBoost, numpy, PyTorch's other allocators, Paddle, faiss, llama.cpp, ONNX Runtime,
/// RMM, vLLM, TensorRT, Theano, R. Returns nullopt if the text has none.
[[nodiscard]] std::optional<OomMessage> parse_framework_message(std::string_view text);

/// The part of a line that goes on with the figures of a message that began on a line before it: "Currently allocated     : 22.10 GiB".
/// Empty if it does not.
[[nodiscard]] std::string_view figures_of_message(std::string_view line);

/// The figures of any program's out-of-memory message.
[[nodiscard]] std::optional<OomMessage> read_oom_figures(std::string_view text);

}  // namespace hpo

namespace hpo::detail {

/// The whole number at the beginning of a text. Its digits may be grouped by commas ("8,589,934,592"). Returns nullopt for impossible
/// figures.
[[nodiscard]] inline std::optional<std::int64_t> leading_whole_number(std::string_view text) {
    double number = 0;
    bool any = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] >= '0' && text[i] <= '9') number = number * 10 + (text[i] - '0');
        else if (text[i] != ',' || !any || i + 1 == text.size() || text[i + 1] < '0' || text[i + 1] > '9') break;
        any = true;
    }
    if (!any || number > largest_credible_bytes) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

/// What a program means by "MB". Many programs write it for 2^20 bytes.
enum class Megabyte { decimal, binary };

/// The size at the beginning of a text: "2147483648 bytes", "2.00GiB", "12.0 GiB", "2147483648B", "3.00G". A number without a unit is not a
/// size. R writes "Gb" for 2^30 bytes.
[[nodiscard]] inline std::optional<std::int64_t> leading_size(std::string_view text, Megabyte megabyte = Megabyte::decimal) {
    double number = 0;
    const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{}) return std::nullopt;
    std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
    if (unit.starts_with(',')) {
        const auto whole = leading_whole_number(text);
        const auto end = text.find_first_not_of("0123456789,");
        if (!whole || end == std::string_view::npos) return std::nullopt;
        number = static_cast<double>(*whole);
        unit = text.substr(end);
    }
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    const bool binary = megabyte == Megabyte::binary;
    for (const auto& [name, scale] :
         {std::pair{std::string_view{"bytes"}, 1.0}, std::pair{std::string_view{"KiB"}, 0x1.0p10},
          std::pair{std::string_view{"MiB"}, 0x1.0p20}, std::pair{std::string_view{"GiB"}, 0x1.0p30},
          std::pair{std::string_view{"TiB"}, 0x1.0p40}, std::pair{std::string_view{"TB"}, binary ? 0x1.0p40 : 1e12},
          std::pair{std::string_view{"KB"}, binary ? 0x1.0p10 : 1e3}, std::pair{std::string_view{"MB"}, binary ? 0x1.0p20 : 1e6},
          std::pair{std::string_view{"GB"}, binary ? 0x1.0p30 : 1e9}, std::pair{std::string_view{"Kb"}, 0x1.0p10},
          std::pair{std::string_view{"Mb"}, 0x1.0p20}, std::pair{std::string_view{"Gb"}, 0x1.0p30}, std::pair{std::string_view{"B"}, 1.0},
          std::pair{std::string_view{"K"}, 0x1.0p10}, std::pair{std::string_view{"M"}, 0x1.0p20},
          std::pair{std::string_view{"G"}, 0x1.0p30}}) {
        if (!unit.starts_with(name)) continue;
        if (unit.size() > name.size() && std::isalpha(static_cast<unsigned char>(unit[name.size()])) != 0) continue;  // another word
        const double bytes = std::round(number * scale);
        return bytes >= 0 && bytes <= largest_credible_bytes ? std::optional{static_cast<std::int64_t>(bytes)} : std::nullopt;
    }
    return std::nullopt;
}

/// The bytes of the tensor in "tensor with shape[64,128,56,56] and type float".
[[nodiscard]] inline std::optional<std::int64_t> tensor_bytes(std::string_view text) {
    constexpr std::string_view shape = "tensor with shape[";
    const auto at = text.find(shape);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + shape.size());
    const auto close = text.find(']');
    constexpr std::string_view typed = "] and type ";
    if (close == std::string_view::npos || !text.substr(close).starts_with(typed)) return std::nullopt;
    const std::string_view type = text.substr(close + typed.size());
    double bytes = 0;
    for (const auto& [name, size] :
         {std::pair{std::string_view{"float8"}, 1.0}, std::pair{std::string_view{"float"}, 4.0}, std::pair{std::string_view{"half"}, 2.0},
          std::pair{std::string_view{"bfloat16"}, 2.0}, std::pair{std::string_view{"double"}, 8.0},
          std::pair{std::string_view{"complex64"}, 8.0}, std::pair{std::string_view{"complex128"}, 16.0},
          std::pair{std::string_view{"int64"}, 8.0}, std::pair{std::string_view{"int32"}, 4.0}, std::pair{std::string_view{"int16"}, 2.0},
          std::pair{std::string_view{"int8"}, 1.0}, std::pair{std::string_view{"uint8"}, 1.0}, std::pair{std::string_view{"bool"}, 1.0}}) {
        if (type.starts_with(name)) {
            bytes = size;
            break;
        }
    }
    for (std::string_view sizes = text.substr(0, close); !sizes.empty();) {
        const auto comma = std::min(sizes.find(','), sizes.size());
        double size = 0;
        const auto [stop, status] = std::from_chars(sizes.data(), sizes.data() + comma, size, std::chars_format::fixed);
        if (status != std::errc{} || stop != sizes.data() + comma) return std::nullopt;
        bytes *= size;
        sizes.remove_prefix(std::min(comma + 1, sizes.size()));
    }
    if (bytes < 1 || bytes > largest_credible_bytes) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
}

/// The first size after `phrase`. Blanks, line ends and a colon may stand between.
[[nodiscard]] inline std::optional<std::int64_t> size_after(std::string_view text, std::string_view phrase,
                                                            Megabyte megabyte = Megabyte::decimal) {
    for (auto at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
        const auto begin = text.find_first_not_of(" :\n", at + phrase.size());
        if (begin == std::string_view::npos) return std::nullopt;
        if (const auto bytes = leading_size(text.substr(begin), megabyte)) return bytes;
    }
    return std::nullopt;
}

/// PyTorch with the backend cudaMallocAsync: one figure a line, each after its label.
[[nodiscard]] inline std::optional<OomMessage> parse_async_message(std::string_view text) {
    if (text.find("would exceed allowed memory") == std::string_view::npos) return std::nullopt;
    OomMessage message;
    message.requested_bytes = size_after(text, "Requested ");
    message.memory.allocated = size_after(text, "Currently allocated ");
    message.memory.capacity = size_after(text, "Device limit ");
    message.memory.free = size_after(text, "Free (according to CUDA)");
    message.memory.limit = size_after(text, "memory fraction)");
    return message;
}

/// PyTorch on Apple's devices. Its limit is a share of the memory that all programs use together.
[[nodiscard]] inline std::optional<OomMessage> parse_mps_message(std::string_view text) {
    if (text.find("MPS backend out of memory") == std::string_view::npos) return std::nullopt;
    OomMessage message;
    message.requested_bytes = size_after(text, "Tried to allocate ", Megabyte::binary);
    message.memory.allocated = size_after(text, "MPS allocated:", Megabyte::binary);
    message.memory.capacity = size_after(text, "max allowed:", Megabyte::binary);
    return message;
}

/// XLA's compiler for TPUs: "Used 18.20G of 15.48G hbm".
[[nodiscard]] inline std::optional<OomMessage> parse_tpu_message(std::string_view text) {
    const auto begin = text.find("Ran out of memory in memory space ");
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    OomMessage message;
    message.requested_bytes = size_after(text, "Used ");
    message.memory.capacity = size_after(text, " of ");
    return message;
}

/// CatBoost up to 0.9 prints no unit: "Out of memory. Requested 17476.5; Free 2255.5". Both are in units of 2^20 bytes.
[[nodiscard]] inline std::optional<OomMessage> parse_old_catboost_message(std::string_view text) {
    constexpr std::string_view requested = "Out of memory. Requested ";
    constexpr std::string_view free = "; Free ";
    const auto begin = text.find(requested);
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin + requested.size());
    const auto middle = text.find(free);
    const auto in_mib = [](std::string_view number) -> std::optional<std::int64_t> {
        number = number.substr(0, number.find_first_not_of("0123456789."));
        return leading_size(std::string{number} + " MiB");
    };
    if (middle == std::string_view::npos || text.substr(0, middle).find_first_not_of("0123456789.") != std::string_view::npos)
        return std::nullopt;
    OomMessage message;
    message.requested_bytes = in_mib(text.substr(0, middle));
    message.memory.free = in_mib(text.substr(middle + free.size()));
    return message;
}

/// Paddle: "Cannot allocate 3.125000GB memory on GPU 0, 21.184814GB memory has been allocated and available memory is only 0.500000GB".
/// Older versions do not print what has been allocated.
[[nodiscard]] inline std::optional<OomMessage> parse_paddle_message(std::string_view text) {
    const auto begin = text.find("Cannot allocate ");
    const auto middle = text.find(" memory on GPU ", begin == std::string_view::npos ? text.size() : begin);
    if (middle == std::string_view::npos) return std::nullopt;
    OomMessage message;
    message.requested_bytes = size_after(text.substr(begin), "Cannot allocate ", Megabyte::binary);
    message.memory.free = size_after(text.substr(begin), "available memory is only ", Megabyte::binary);
    const std::string_view more = text.substr(middle + 1);
    const auto allocated = more.find(" memory has been allocated");
    const auto comma = more.find(", ");
    if (comma < allocated && allocated != std::string_view::npos)
        message.memory.allocated = leading_size(more.substr(comma + 2), Megabyte::binary);
    return message;
}

/// vLLM's check when it starts: "Free memory on device (67.24/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33
/// GiB)". Newer versions name the device before the figures.
[[nodiscard]] inline std::optional<OomMessage> parse_vllm_message(std::string_view text) {
    const auto begin = text.find("Free memory on device ");
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    const auto open = text.find('(');
    const auto slash = text.find('/', open == std::string_view::npos ? text.size() : open);
    const auto desired = text.find("desired GPU memory utilization (");
    if (slash == std::string_view::npos || desired == std::string_view::npos) return std::nullopt;
    OomMessage message;
    message.memory.capacity = leading_size(text.substr(slash + 1));
    message.memory.free = leading_size(std::string{text.substr(open + 1, slash - open - 1)} + " GiB");
    if (const auto comma = text.find(", ", desired); comma != std::string_view::npos)
        message.requested_bytes = leading_size(text.substr(comma + 2));
    return message;
}

/// TensorFlow's driver prints a rounded size and the bytes: "failed to allocate 1.51G (1617277696 bytes) from device".
[[nodiscard]] inline std::optional<OomMessage> parse_stream_executor_message(std::string_view text) {
    constexpr std::string_view refused = "failed to allocate ";
    const auto begin = text.find(refused);
    const auto end = text.find(" bytes) from device", begin == std::string_view::npos ? text.size() : begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view sizes = text.substr(begin + refused.size(), end - begin - refused.size());
    const auto open = sizes.find(" (");
    if (open == std::string_view::npos || sizes.find('\n') != std::string_view::npos) return std::nullopt;
    OomMessage message;
    message.requested_bytes = leading_whole_number(sizes.substr(open + 2));
    return message;
}

/// Theano: "Error allocating 71323200 bytes of device memory (out of memory). Driver report 10526720 bytes free and 4294770688 bytes
/// total".
[[nodiscard]] inline std::optional<OomMessage> parse_theano_message(std::string_view text) {
    if (text.find(" bytes of device memory") == std::string_view::npos) return std::nullopt;
    OomMessage message;
    message.requested_bytes = size_after(text, "Error allocating ");
    message.memory.free = size_after(text, "Driver report ");
    message.memory.capacity = size_after(text, " bytes free and ");
    return message;
}

/// RMM's pool: "Maximum pool size exceeded (failed to allocate 10.4 GiB): ... current/max/try size = 78.0 GiB, 78.0 GiB, 10.4 GiB".
[[nodiscard]] inline std::optional<OomMessage> parse_rmm_message(std::string_view text) {
    const auto begin = text.find("Maximum pool size exceeded (");
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    OomMessage message;
    message.requested_bytes = size_after(text, "failed to allocate ");
    constexpr std::string_view sizes = "current/max/try size = ";
    if (const auto at = text.find(sizes); at != std::string_view::npos) {
        const std::string_view current = text.substr(at + sizes.size());
        message.memory.reserved = leading_size(current);
        message.memory.limit = size_after(current, ", ");
    }
    return message;
}

}  // namespace hpo::detail

namespace hpo {

inline std::optional<OomMessage> parse_framework_message(std::string_view text) {
    for (const auto parse : {detail::parse_async_message, detail::parse_mps_message, detail::parse_tpu_message,
                             detail::parse_paddle_message, detail::parse_vllm_message, detail::parse_stream_executor_message,
                             detail::parse_theano_message, detail::parse_rmm_message, detail::parse_old_catboost_message}) {
        if (auto message = parse(text); message && (message->requested_bytes || message->memory.allocated)) return message;
    }
    OomMessage message;
    const auto number_after = [&](std::string_view phrase) -> std::optional<std::int64_t> {
        const auto at = text.find(phrase);
        return at == std::string_view::npos ? std::nullopt : detail::leading_whole_number(text.substr(at + phrase.size()));
    };
    // Older releases print bytes, newer ones a size in binary units.
    const auto xgboost_size = [&](std::string_view phrase) {
        const auto at = text.find(phrase);
        if (at == std::string_view::npos) return std::optional<std::int64_t>{};
        const auto size = detail::leading_size(text.substr(at + phrase.size()), detail::Megabyte::binary);
        return size ? size : number_after(phrase);
    };
    for (const std::string_view phrase :
         {"trying to allocate ", "Out of memory allocating ", "out of memory allocating ", "Failed to allocate request for ",
          "failed to alloc ", "failed to allocate ", "Failed to allocate ", "Unable to allocate ", "Attempting to allocate ",
          "Attempting to reserve ", "out of memory to allocate ", "ailed to cudaMalloc ", "memory allocation of ",
          "cannot allocate vector of size ", "Requested size was ", "Requested amount of GPU memory (",
          "smaller than requested bytes of "}) {
        if (!message.requested_bytes) message.requested_bytes = detail::size_after(text, phrase);
    }
    for (const std::string_view phrase : {"requested buffer of size ", "malloc of size ", "requested bytes of ",
                                          "emory allocation of size ", "pinned host memory of size: "}) {
        if (!message.requested_bytes) message.requested_bytes = number_after(phrase);
    }
    if (const auto refused = std::min(text.find("alloc fail type "), text.find("device allocator fail type "));
        refused != std::string_view::npos && !message.requested_bytes)
        message.requested_bytes = detail::size_after(text.substr(refused), " size ");
    if (text.find("cudaMalloc failed") != std::string_view::npos && !message.requested_bytes)
        message.requested_bytes = detail::size_after(text, "allocating ");
    if (text.find("Invalid buffer size: ") != std::string_view::npos && !message.requested_bytes)
        message.requested_bytes = detail::size_after(text, "Invalid buffer size: ", detail::Megabyte::binary);
    if (message.requested_bytes) message.memory.limit = detail::size_after(text, "maximum allowed buffer size of ");
    if (!message.requested_bytes) {
        message.requested_bytes = detail::size_after(text, "Out of memory. Requested ", detail::Megabyte::binary);
        if (message.requested_bytes) message.memory.free = detail::size_after(text, "MB; Free ", detail::Megabyte::binary);
    }
    if (!message.requested_bytes) message.requested_bytes = detail::tensor_bytes(text);
    if (!message.requested_bytes) message.requested_bytes = xgboost_size("- Requested memory: ");
    message.memory.allocated = detail::size_after(text, "(allocated so far: ");
    if (!message.memory.limit) message.memory.limit = detail::size_after(text, "limit set to: ");
    if (!message.memory.free) message.memory.free = xgboost_size("- Free memory: ");
    if (!message.memory.free && message.requested_bytes)
        message.memory.free = detail::size_after(text, "That was not possible. There are ");
    if (!message.requested_bytes && !message.memory.allocated && !message.memory.free) return std::nullopt;
    return message;
}

inline std::string_view figures_of_message(std::string_view line) {
    constexpr std::string_view heading = "PyTorch limit (set by ";  // its figure is on the next line
    if (const auto at = line.find(heading); at != std::string_view::npos) return line.substr(at);
    const auto colon = line.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == line.size()) return {};
    const auto begin = line.find_first_not_of(' ', colon + 1);
    if (begin == std::string_view::npos || line[begin] < '0' || line[begin] > '9') return {};
    const std::string_view before = line.substr(0, colon);
    for (const std::string_view label :
         {"Currently allocated", "Requested", "Device limit", "Free (according to CUDA)", "- Free memory", "- Requested memory"}) {
        const auto at = before.rfind(label);
        if (at != std::string_view::npos && before.find_first_not_of(' ', at + label.size()) == std::string_view::npos)
            return line.substr(at);
    }
    return before.ends_with("  ") && detail::leading_size(line.substr(begin)) ? line.substr(colon) : std::string_view{};
}

inline std::optional<OomMessage> read_oom_figures(std::string_view text) {
    auto torch = parse_oom_message(text);
    if (torch && torch->memory.capacity.value_or(1) <= 0) torch->memory.capacity.reset();  // no device is that small
    if (torch && (torch->memory.allocated || torch->memory.capacity || torch->memory.free)) return torch;
    auto other = parse_framework_message(text);
    return other ? other : torch;
}

}  // namespace hpo
