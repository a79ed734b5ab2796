// SPDX-License-Identifier: MIT
//
// Whatever a trace file holds, reading it ends with a trace that can be written, read and replayed, or with an hpo::Error of one line.
// The same for the text of an allocator's settings.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace {

using namespace hpo::allocator;

[[noreturn]] void wrong(const char* what) {
    std::cerr << "trace_fuzz: " << what << '\n';
    std::abort();
}

void check_error(const hpo::Error& error) {
    const std::string_view text = error.what();
    if (!text.starts_with("f: ")) wrong("an error without its place");
    if (text.find('\n') != std::string_view::npos) wrong("an error is not one line");
}

void read_as_trace(std::string_view bytes) {
    try {
        const AllocationTrace trace = decode_trace({.bytes = bytes, .place = "f"});
        if (decode_trace({.bytes = encode_trace(trace), .place = "f"}) != trace) wrong("a trace that does not come back");
        std::int64_t asked = 0;
        for (const TracedBlock& block : trace.blocks) {
            asked += block.bytes;
            if (asked > unlimited_bytes) return;
        }
        const AllocatorCounts counts = simulate(trace, {}).counts;
        if (counts.requested_peak != requested_peak(trace).bytes) wrong("two requested peaks");
        if (counts.allocated_peak < counts.requested_peak || counts.reserved_peak < counts.allocated_peak) wrong("peaks in disorder");
    } catch (const hpo::Error& error) {
        check_error(error);
    }
}

/// A trace with one bit changed anywhere is refused.
void flip_bits(std::string_view bytes) {
    std::string whole{bytes};
    try {
        (void)decode_trace({.bytes = whole, .place = "f"});
    } catch (const hpo::Error&) {
        try {
            whole += trace_checksum(bytes);
            (void)decode_trace({.bytes = whole, .place = "f"});
        } catch (const hpo::Error&) {
            return;
        }
    }
    const std::size_t bits = 8 * whole.size();
    for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t bit = (i * 2654435761U + whole.size()) % bits;
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(static_cast<unsigned char>(flipped[bit / 8]) ^ (1U << (bit % 8)));
        try {
            (void)decode_trace({.bytes = flipped, .place = "f"});
        } catch (const hpo::Error&) {
            continue;
        }
        wrong("a flipped bit that is not told");
    }
}

void read_as_settings(std::string_view text) {
    for (const LibTorchVersion version : {LibTorchVersion{1, 13}, LibTorchVersion{2, 6}, LibTorchVersion{2, 11}}) {
        try {
            const AllocatorSettings settings = read_allocator_conf(text, version, "f");
            for (std::int64_t size = 1; size < unlimited_bytes; size = 3 * size + 1) {
                if (settings.rounded(size) < size || settings.segment(settings.rounded(size)) < settings.rounded(size))
                    wrong("rounded down");
            }
        } catch (const hpo::Error& error) {
            check_error(error);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    read_as_trace(bytes);
    read_as_trace(std::string{bytes} + trace_checksum(bytes));  // what the checksum would keep from the decoder
    flip_bits(bytes);
    read_as_settings(bytes);
    return 0;
}
