// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hpo/core/error.hpp"

namespace image_classifier {

/// An array of bytes from a file in the IDX format of the MNIST data sets.
struct IdxArray {
    std::vector<std::int64_t> shape;
    std::vector<std::uint8_t> bytes;
};

/// Reads an IDX file of unsigned bytes with `dimensions` dimensions, gzip-compressed or not. Throws Error naming the file
/// when it is missing, cut short, longer than it says, or something else.
[[nodiscard]] inline IdxArray read_idx(const std::filesystem::path& file, int dimensions) {
    const auto refuse = [&](const std::string& what) { return hpo::Error{hpo::Errc::bad_value, file.string() + ": " + what}; };
    if (!std::filesystem::is_regular_file(file)) throw refuse("no such file; expected an IDX file (.gz)");
    const std::unique_ptr<gzFile_s, decltype(&gzclose)> stream{gzopen(file.c_str(), "rb"), &gzclose};
    if (!stream) throw refuse("cannot be opened");

    const auto read = [&](std::uint8_t* to, std::int64_t count, const std::string& part) {
        for (std::int64_t done = 0; done < count;) {
            const auto piece = static_cast<unsigned>(std::min<std::int64_t>(count - done, 1 << 24));
            const int got = gzread(stream.get(), to + done, piece);
            int status = Z_OK;
            const std::string reason = gzerror(stream.get(), &status);
            if (got < 0 || (got == 0 && status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR))
                throw refuse("damaged: " + reason);
            if (got == 0)
                throw refuse("cut short: " + part + " ends after " + std::to_string(done) + " of " + std::to_string(count) + " bytes");
            done += got;
        }
    };
    const auto big_endian = [&](const std::string& part) {
        std::uint8_t word[4]{};
        read(word, 4, part);
        return std::int64_t{word[0]} << 24 | std::int64_t{word[1]} << 16 | std::int64_t{word[2]} << 8 | std::int64_t{word[3]};
    };

    const std::int64_t magic = big_endian("the magic number");
    const std::int64_t expected = 0x0800 + dimensions;  // 8: unsigned bytes; then the number of dimensions
    if (magic != expected) {
        throw refuse("magic number " + std::to_string(magic) + "; expected " + std::to_string(expected) + ", unsigned bytes in " +
                     std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions"));
    }
    IdxArray array;
    std::int64_t count = 1;
    for (int i = 0; i < dimensions; ++i) {
        array.shape.push_back(big_endian("the shape"));
        constexpr std::int64_t most = std::int64_t{1} << 34;
        if (array.shape.back() == 0 || count > most / array.shape.back()) throw refuse("a shape without or with too many examples");
        count *= array.shape.back();
    }
    array.bytes.resize(static_cast<std::size_t>(count));
    read(array.bytes.data(), count, "the data");
    std::uint8_t beyond = 0;
    if (gzread(stream.get(), &beyond, 1) != 0) throw refuse("longer than the " + std::to_string(count) + " bytes that its header tells");
    return array;
}

}  // namespace image_classifier
