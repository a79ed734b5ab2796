// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "hpo/dataset/input_file.hpp"

namespace hpo::image_classifier {

/// An array of bytes from a file in the IDX format of the MNIST data sets.
struct IdxArray {
    std::vector<std::int64_t> shape;
    std::vector<std::uint8_t> bytes;
};

/// Reads an IDX file of unsigned bytes with `dimensions` dimensions, gzip-compressed or not. Throws Error with the file's name if it is
/// missing, cut short, too long, or not an IDX file.
[[nodiscard]] inline IdxArray read_idx(const std::filesystem::path& file, int dimensions) {
    hpo::dataset::InputFile input{file, "an IDX file (.gz)"};
    const auto read = [&](std::span<std::uint8_t> to, const std::string& part) {
        const std::size_t done = input.read(to);
        if (done == to.size()) return;
        throw input.refusal("cut short: " + part + " ends after " + std::to_string(done) + " of " + std::to_string(to.size()) + " bytes");
    };
    const auto big_endian = [&](const std::string& part) {
        std::uint8_t word[4]{};
        read(word, part);
        return std::int64_t{word[0]} << 24 | std::int64_t{word[1]} << 16 | std::int64_t{word[2]} << 8 | std::int64_t{word[3]};
    };

    const std::int64_t magic = big_endian("the magic number");
    const std::int64_t expected = 0x0800 + dimensions;  // 8: unsigned bytes; then the number of dimensions
    if (magic != expected) {
        throw input.refusal("magic number " + std::to_string(magic) + "; expected " + std::to_string(expected) + ", unsigned bytes in " +
                            std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions"));
    }
    IdxArray array;
    std::int64_t count = 1;
    for (int i = 0; i < dimensions; ++i) {
        array.shape.push_back(big_endian("the shape"));
        constexpr std::int64_t most = std::int64_t{1} << 34;
        if (array.shape.back() == 0 || count > most / array.shape.back()) throw input.refusal("a shape without or with too many examples");
        count *= array.shape.back();
    }
    array.bytes.resize(static_cast<std::size_t>(count));
    read(array.bytes, "the data");
    std::uint8_t beyond[1]{};
    if (input.read(beyond) != 0) throw input.refusal("longer than the " + std::to_string(count) + " bytes that its header tells");
    return array;
}

}  // namespace hpo::image_classifier
