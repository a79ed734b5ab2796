// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/core/error.hpp"
#include "hpo/memory/allocation_trace.hpp"

namespace hpo::memory {

inline constexpr std::string_view trace_file_magic = "hpotrace";
inline constexpr std::uint64_t trace_file_version = 2;
inline constexpr std::size_t trace_checksum_bytes = 4;
inline constexpr std::int64_t largest_traced_bytes = std::int64_t{1} << 50;  ///< of one block
inline constexpr std::int64_t most_traced_bytes = std::int64_t{1} << 60;     ///< of all blocks together, so that no sum over them overflows

/// The CRC-32 of all bytes before it, the lowest byte first: the end of a trace's bytes.
[[nodiscard]] std::string trace_checksum(std::string_view bytes);

/// A trace as bytes. After the magic word all are numbers of 7 bits a byte, the lowest first, and texts with their length before them:
/// version; LibTorch's version; scopes; blocks, each its bytes and its scope; events, each 0 for taking the next block or n for giving back
/// the n-th latest; phases, each how many events after the one before it begins, and its name. Each list has its length before it. Last
/// comes a checksum.
/// Throws Error for what `AllocationTrace` itself never makes, such as blocks that are not taken in their order.
[[nodiscard]] std::string encode_trace(const AllocationTrace& trace);

/// What encode_trace wrote, and where it stands.
struct EncodedTrace {
    std::string_view bytes;
    std::string_view place;  ///< in words, for errors
};

/// Reads what encode_trace wrote, and nothing that a replay could stumble over. Errors name the place and the byte.
class TraceDecoder {
public:
    explicit TraceDecoder(EncodedTrace encoded) : bytes_{encoded.bytes}, place_{encoded.place} {}

    [[nodiscard]] AllocationTrace decode();

private:
    /// Leaves what is before the checksum.
    void take_checksum();
    [[nodiscard]] TracedBlock block(std::size_t scopes);
    void read_events(AllocationTrace& trace);

    [[nodiscard]] std::uint64_t number();
    /// Of a list or a text: every element takes a byte or more.
    [[nodiscard]] std::size_t length();
    [[nodiscard]] std::string text();
    [[nodiscard]] Error damaged(const std::string& what) const {
        return {Errc::bad_value, place_ + ": byte " + std::to_string(at_) + ": damaged allocation trace: " + what};
    }

    std::string_view bytes_;
    std::string place_;
    std::size_t at_ = 0;
};

[[nodiscard]] inline AllocationTrace decode_trace(EncodedTrace encoded) { return TraceDecoder{encoded}.decode(); }

/// Writes a trace to a file; readers see the old file or the whole new one.
void write_trace(const std::filesystem::path& file, const AllocationTrace& trace);

/// Whether a file begins as a trace does, of whatever version.
[[nodiscard]] bool begins_as_trace(const std::filesystem::path& file);

/// Throws Error where there is no such file, and where it holds anything but a whole trace.
[[nodiscard]] AllocationTrace read_trace(const std::filesystem::path& file);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/trace_file_inl.hpp"
#endif
