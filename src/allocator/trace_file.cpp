// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/crc32.hpp"
#include "hpo/base/new_file.hpp"

namespace hpo::allocator {

std::string trace_checksum(std::string_view bytes) {
    const std::uint32_t sum = crc32(bytes);
    std::string text;
    for (unsigned shift = 0; shift < 8 * trace_checksum_bytes; shift += 8)
        text += static_cast<char>(static_cast<unsigned char>(sum >> shift));
    return text;
}

std::string encode_trace(const AllocationTrace& trace) {
    std::string bytes{trace_file_magic};
    const auto number = [&](std::uint64_t value) {
        for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(0x80U | (value & 0x7FU));
        bytes += static_cast<char>(value);
    };
    const auto text = [&](std::string_view value) {
        number(value.size());
        bytes += value;
    };
    const auto require = [](bool met, const std::string& what) {
        if (!met) throw Error{Errc::bad_value, "allocation trace: " + what};
    };
    number(trace_file_version);
    text(trace.libtorch);
    number(trace.scopes.size());
    for (const std::string& scope : trace.scopes) text(scope);
    number(trace.blocks.size());
    std::int64_t in_all = 0;
    for (const TracedBlock& block : trace.blocks) {
        require(block.bytes > 0 && block.bytes <= largest_traced_bytes, "a block of " + std::to_string(block.bytes) + " bytes");
        require(block.bytes <= most_traced_bytes - in_all, "more than 2^60 bytes in all");
        require(block.scope < trace.scopes.size(), "a block of a scope that is not there");
        in_all += block.bytes;
        number(static_cast<std::uint64_t>(block.bytes));
        number(block.scope);
    }
    number(trace.events.size());
    std::int64_t taken = 0;
    for (const std::int64_t event : trace.events) {
        require(event < 0 ? -1 - event < taken : event == taken, "blocks are not taken in the order of their numbers");
        number(event >= 0 ? 0 : static_cast<std::uint64_t>(taken + 1 + event));
        if (event >= 0) ++taken;
    }
    number(trace.phases.size());
    std::size_t begun = 0;
    for (const TracedPhase& phase : trace.phases) {
        require(phase.first_event >= begun, "phases are not in order");
        number(phase.first_event - begun);
        text(phase.name);
        begun = phase.first_event;
    }
    return bytes + trace_checksum(bytes);
}

AllocationTrace TraceDecoder::decode() {
    if (!bytes_.starts_with(trace_file_magic)) throw Error{Errc::bad_value, place_ + ": not an allocation trace"};
    at_ = trace_file_magic.size();
    if (const std::uint64_t version = number(); version != trace_file_version) {
        throw Error{Errc::bad_value, place_ + ": an allocation trace of version " + std::to_string(version) + "; expected version " +
                                         std::to_string(trace_file_version) + ": record it again"};
    }
    take_checksum();
    AllocationTrace trace;
    trace.libtorch = text();
    trace.scopes.clear();
    for (std::size_t left = length(); left > 0; --left) trace.scopes.push_back(text());
    if (trace.scopes.empty() || !trace.scopes.front().empty()) throw damaged("the first scope has a name");
    std::int64_t in_all = 0;
    for (std::size_t left = length(); left > 0; --left) {
        trace.blocks.push_back(block(trace.scopes.size()));
        if (trace.blocks.back().bytes > most_traced_bytes - in_all) throw damaged("more than 2^60 bytes in all");
        in_all += trace.blocks.back().bytes;
    }
    read_events(trace);
    std::size_t begun = 0;
    for (std::size_t left = length(); left > 0; --left) {
        const std::uint64_t after = number();
        if (after > trace.events.size() - begun) throw damaged("a phase begins behind the last event");
        begun += static_cast<std::size_t>(after);
        trace.phases.push_back({begun, text()});
    }
    if (at_ != bytes_.size()) throw damaged("more than a trace");
    return trace;
}

void TraceDecoder::take_checksum() {
    if (bytes_.size() < at_ + trace_checksum_bytes) throw damaged("it ends early");
    const std::string_view told = bytes_.substr(bytes_.size() - trace_checksum_bytes);
    bytes_.remove_suffix(trace_checksum_bytes);
    if (trace_checksum(bytes_) != told)
        throw Error{Errc::bad_value, place_ + ": damaged allocation trace: its checksum does not match its bytes"};
}

TracedBlock TraceDecoder::block(std::size_t scopes) {
    const std::uint64_t bytes = number();
    if (bytes == 0 || bytes > static_cast<std::uint64_t>(largest_traced_bytes))
        throw damaged("a block of " + std::to_string(bytes) + " bytes");
    const std::uint64_t scope = number();
    if (scope >= scopes) throw damaged("scope " + std::to_string(scope) + " of " + std::to_string(scopes));
    return {static_cast<std::int64_t>(bytes), static_cast<std::uint32_t>(scope)};
}

void TraceDecoder::read_events(AllocationTrace& trace) {
    std::vector<bool> live(trace.blocks.size());
    std::size_t taken = 0;
    for (std::size_t left = length(); left > 0; --left) {
        const std::uint64_t back = number();
        if (back == 0) {
            if (taken == live.size()) throw damaged("more blocks are taken than there are");
            trace.events.push_back(static_cast<std::int64_t>(taken));
            live[taken++] = true;
            continue;
        }
        if (back > taken || !live[taken - back]) throw damaged("a block is given back that nobody holds");
        live[taken - back] = false;
        trace.give_back(static_cast<std::int64_t>(taken - back));
    }
    if (taken != live.size()) throw damaged("a block is never taken");
}

std::uint64_t TraceDecoder::number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (at_ == bytes_.size()) throw damaged("it ends early");
        const auto byte = static_cast<unsigned char>(bytes_[at_++]);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) return value;
    }
    throw damaged("a number of more than 64 bits");
}

std::size_t TraceDecoder::length() {
    const std::uint64_t value = number();
    if (value > bytes_.size() - at_) throw damaged("a length of " + std::to_string(value) + " with less behind it");
    return static_cast<std::size_t>(value);
}

std::string TraceDecoder::text() {
    const std::size_t bytes = length();
    at_ += bytes;
    return std::string{bytes_.substr(at_ - bytes, bytes)};
}

void write_trace(const std::filesystem::path& file, const AllocationTrace& trace) {
    const std::string bytes = encode_trace(trace);
    NewFile output{file};
    output.write(std::as_bytes(std::span{bytes}));
    output.commit();
}

bool begins_as_trace(const std::filesystem::path& file) {
    std::array<char, trace_file_magic.size()> begin{};
    std::ifstream input{file, std::ios::binary};
    return input.read(begin.data(), begin.size()) && std::string_view{begin.data(), begin.size()} == trace_file_magic;
}

AllocationTrace read_trace(const std::filesystem::path& file) {
    std::ifstream input{file, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{input}, std::istreambuf_iterator<char>{}};
    if (!input.is_open() || input.bad()) throw Error{Errc::bad_value, file.string() + ": cannot be read"};
    return decode_trace({.bytes = bytes, .place = file.string()});
}

}  // namespace hpo::allocator
