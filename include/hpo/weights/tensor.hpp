// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/shown_text.hpp"
#include "hpo/weights/dtype.hpp"

namespace hpo::weights {

/// A tensor as it is stored: row-major, little-endian. The bytes belong to somebody else, usually a mapped file, and need
/// not be aligned to the element.
struct Tensor {
    Dtype dtype = Dtype::f32;
    std::vector<std::int64_t> shape;  ///< no dimensions: one element
    std::span<const std::byte> bytes;
};

/// Tensors by name, in the order of their names.
using TensorMap = std::map<std::string, Tensor, std::less<>>;
/// A file's own remarks about itself.
using Metadata = std::map<std::string, std::string, std::less<>>;

/// How many bits a tensor takes; nothing when they, or those of its first dimensions, cannot be counted in 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> stored_bits(Dtype dtype, std::span<const std::int64_t> shape) {
    std::uint64_t bits = entry(dtype).bits;
    for (const std::int64_t extent : shape) {
        if (extent < 0) return std::nullopt;
        const auto times = static_cast<std::uint64_t>(extent);
        if (times != 0 && bits > std::numeric_limits<std::uint64_t>::max() / times) return std::nullopt;
        bits *= times;
    }
    return bits;
}

/// How many bytes a tensor takes; nothing when that is no whole number of bytes, or past what stored_bits can count.
[[nodiscard]] inline std::optional<std::uint64_t> stored_bytes(Dtype dtype, std::span<const std::int64_t> shape) {
    const auto bits = stored_bits(dtype, shape);
    if (!bits || *bits % 8 != 0) return std::nullopt;
    return *bits / 8;
}

/// `tensor 'NAME'`: the name as a message shows it.
[[nodiscard]] inline std::string tensor_text(std::string_view name) {
    constexpr std::size_t most_bytes = 200;
    return "tensor '" + shown(name, most_bytes) + "'";
}

/// "[384, 1536]"
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

}  // namespace hpo::weights
