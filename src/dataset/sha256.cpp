// SPDX-License-Identifier: MIT
#include "hpo/dataset/sha256.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hpo::dataset {

Sha256& Sha256::add(std::string_view bytes) {
    length_ += bytes.size();
    while (!bytes.empty()) {
        const std::size_t piece = std::min(bytes.size(), block_.size() - held_);
        std::copy_n(bytes.data(), piece, block_.begin() + static_cast<std::ptrdiff_t>(held_));
        bytes.remove_prefix(piece);
        held_ += piece;
        if (held_ == block_.size()) compress();
    }
    return *this;
}

Digest Sha256::finish() {
    const std::uint64_t bits = length_ * 8;
    add(std::string_view{"\x80", 1});
    while (held_ != 56) add(std::string_view{"\0", 1});
    for (int shift = 56; shift >= 0; shift -= 8) block_[held_++] = static_cast<char>(bits >> shift);
    compress();
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

void Sha256::compress() {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t k = 0; k < 4; ++k) w[i] = w[i] << 8 | static_cast<std::uint8_t>(block_[4 * i + k]);
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i];
        const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const Words added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += added[i];
    held_ = 0;
}

std::string hex_text(const Digest& digest) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

}  // namespace hpo::dataset
