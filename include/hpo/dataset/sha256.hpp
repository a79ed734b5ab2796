// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hpo::dataset {

using Digest = std::array<std::uint8_t, 32>;

/// SHA-256 (FIPS 180-4) of bytes that are added piece by piece. It is the same as `sha256sum` prints, so that anybody can check it.
class Sha256 {
public:
    Sha256& add(std::string_view bytes);
    Sha256& add(const Digest& digest) { return add({reinterpret_cast<const char*>(digest.data()), digest.size()}); }

    /// Returns the hash. Do not add more bytes afterwards.
    [[nodiscard]] Digest finish();

private:
    using Words = std::array<std::uint32_t, 8>;

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    static constexpr std::array<std::uint32_t, 64> rounds{
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

    void compress();

    Words state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<char, 64> block_{};
    std::size_t held_ = 0;
    std::uint64_t length_ = 0;
};

[[nodiscard]] inline Digest sha256(std::string_view bytes) { return Sha256{}.add(bytes).finish(); }

/// The hash as 64 characters, as `sha256sum` prints it.
[[nodiscard]] std::string hex_text(const Digest& digest);

}  // namespace hpo::dataset
