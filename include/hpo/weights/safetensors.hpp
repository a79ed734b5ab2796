// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "hpo/weights/tensor.hpp"

namespace hpo::weights {

/// The format's own limit, so that a damaged length does not ask for memory.
inline constexpr std::uint64_t largest_header_bytes = 100'000'000;

/// What a safetensors file holds. The tensors' bytes are those of the file's image.
struct SafetensorsContent {
    Metadata metadata;
    TensorMap tensors;
};

namespace detail {

/// A header or index as JSON: at most an object of objects of arrays, each key once. Throws Error.
[[nodiscard]] nlohmann::json parse_strictly(std::string_view text, const std::string& place);

/// A tensor's place among the data, which begins after the header.
struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string_view name;
};

}  // namespace detail

/// Reads the image of a safetensors file; `place` names it in errors. Accepts exactly what the format allows: one header of
/// at most 100 MB in UTF-8, no name twice, and tensors that fill the rest without gap or overlap. Throws Error naming the place and
/// the tensor or field.
[[nodiscard]] SafetensorsContent read_safetensors(std::span<const std::byte> file, const std::string& place);

}  // namespace hpo::weights

#ifndef HPO_COMPILED
#include "hpo/weights/impl/safetensors_inl.hpp"
#endif
