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

#include "hpo/base/shown_text.hpp"
#include "hpo/weights/dtype.hpp"

namespace hpo::weights {

/// A stored tensor: row-major, little-endian. It does not own the bytes, which usually belong to a mapped file. They may be unaligned.
struct Tensor {
    Dtype dtype = Dtype::f32;
    std::vector<std::int64_t> shape;  ///< empty: a single element
    std::span<const std::byte> bytes;
};

/// Tensors by name, sorted by name.
using TensorMap = std::map<std::string, Tensor, std::less<>>;
/// The metadata that a file has about itself.
using Metadata = std::map<std::string, std::string, std::less<>>;

/// How many bits a tensor takes. Returns nullopt if the number, or the number for its first dimensions, does not fit into 64 bits.
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

/// How many bytes a tensor takes. Returns nullopt if that is no whole number, or if stored_bits cannot count it.
[[nodiscard]] inline std::optional<std::uint64_t> stored_bytes(Dtype dtype, std::span<const std::int64_t> shape) {
    const auto bits = stored_bits(dtype, shape);
    if (!bits || *bits % 8 != 0) return std::nullopt;
    return *bits / 8;
}

/// The name in a message: `tensor 'NAME'`.
[[nodiscard]] inline std::string tensor_text(std::string_view name) {
    constexpr std::size_t most_bytes = 200;
    return "tensor '" + shown(name, most_bytes) + "'";
}

/// The shape as text: "[384, 1536]".
[[nodiscard]] inline std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

}  // namespace hpo::weights
