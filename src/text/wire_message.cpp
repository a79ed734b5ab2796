// SPDX-License-Identifier: MIT
#include "text/wire_message.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::text {

std::optional<WireMessage::Field> WireMessage::next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{.number = tag >> 3U, .kind = static_cast<Kind>(tag & 7U), .whole = 0, .bytes = {}};
    switch (field.kind) {
        case Kind::varint: field.whole = varint(); return field;
        case Kind::fixed64: field.whole = fixed(8); return field;
        case Kind::fixed32: field.whole = fixed(4); return field;
        case Kind::bytes: field.bytes = take(varint()); return field;
    }
    throw damaged("a field of kind " + std::to_string(tag & 7U));
}

std::string_view WireMessage::take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw damaged("it ends inside a field");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(bytes));
    rest_.remove_prefix(taken.size());
    return taken;
}

std::uint64_t WireMessage::fixed(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    std::uint64_t whole = 0;
    for (std::size_t i = 0; i < bytes; ++i) whole |= std::uint64_t{static_cast<unsigned char>(taken[i])} << 8 * i;
    return whole;
}

std::uint64_t WireMessage::varint() {
    std::uint64_t whole = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = static_cast<unsigned char>(take(1).front());
        whole |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) return whole;
    }
    throw damaged("a number of more than 64 bits");
}

}  // namespace hpo::text
