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

/// The format's own limit. It keeps a damaged length from asking for a lot of memory.
inline constexpr std::uint64_t largest_header_bytes = 100'000'000;

/// The content of a safetensors file. The tensors point into the file's image.
struct SafetensorsContent {
    Metadata metadata;
    TensorMap tensors;
};

namespace detail {

/// Reads a header or an index as JSON: at most an object of objects of arrays, with each key only once. Throws Error.
[[nodiscard]] nlohmann::json parse_strictly(std::string_view text, const std::string& place);

/// Where a tensor is in the data, which begins after the header.
struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string_view name;
};

}  // namespace detail

/// Reads the image of a safetensors file. `place` names it in errors. Accepts exactly what the format allows: one header of at most 100 MB
/// in UTF-8, no name twice, and tensors that fill the rest without gap or overlap. Throws Error that names the place and the tensor or
/// field.
[[nodiscard]] SafetensorsContent read_safetensors(std::span<const std::byte> file, const std::string& place);

}  // namespace hpo::weights
