// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

inline constexpr std::string_view trace_file_magic = "hpotrace";
inline constexpr std::uint64_t trace_file_version = 2;
inline constexpr std::size_t trace_checksum_bytes = 4;
inline constexpr std::int64_t largest_traced_bytes = std::int64_t{1} << 50;  ///< of one block
inline constexpr std::int64_t most_traced_bytes = std::int64_t{1} << 60;     ///< of all blocks together, so that no sum of them overflows

/// The checksum at the end of a trace's bytes: the CRC-32 of all bytes before it, lowest byte first.
[[nodiscard]] std::string trace_checksum(std::string_view bytes);

/// A trace as bytes: the magic word, and then numbers and texts. A number has 7 bits a byte, the lowest first. A text and a list have their
/// length before them. They come in this order:
///
/// - the format's version, then LibTorch's version
/// - scopes
/// - blocks, each with its bytes and its scope
/// - events: 0 takes the next block, n gives back the n-th latest
/// - phases, each with the number of events since the beginning of the phase before it, and its name
/// - the checksum
///
/// Throws Error for a trace that `AllocationTrace` itself never makes, such as one whose blocks are not taken in their order.
[[nodiscard]] std::string encode_trace(const AllocationTrace& trace);

/// The result of encode_trace, and where it is stored.
struct EncodedTrace {
    std::string_view bytes;
    std::string_view place;  ///< in words, for errors
};

/// Reads the result of encode_trace and checks all that a replay relies on. Errors name the place and the byte.
class TraceDecoder {
public:
    explicit TraceDecoder(EncodedTrace encoded) : bytes_{encoded.bytes}, place_{encoded.place} {}

    [[nodiscard]] AllocationTrace decode();

private:
    /// Checks the checksum and removes it from the bytes.
    void take_checksum();
    [[nodiscard]] TracedBlock block(std::size_t scopes);
    void read_events(AllocationTrace& trace);

    [[nodiscard]] std::uint64_t number();
    /// The length of a list or a text. It is at most the number of bytes left, because each element takes a byte or more.
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

/// Writes a trace to a file. Readers see the old file or the whole new one.
void write_trace(const std::filesystem::path& file, const AllocationTrace& trace);

/// True if a file begins like a trace of any version.
[[nodiscard]] bool begins_as_trace(const std::filesystem::path& file);

/// Throws Error if there is no such file, or if it contains anything but a whole trace.
[[nodiscard]] AllocationTrace read_trace(const std::filesystem::path& file);

}  // namespace hpo::allocator
