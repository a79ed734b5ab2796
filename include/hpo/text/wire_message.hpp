// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/core/error.hpp"

namespace hpo::text {

/// Reads a message in the wire format of protocol buffers, one field after the other.
class WireMessage {
public:
    enum class Kind : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
    struct Field {
        std::uint64_t number = 0;
        Kind kind = Kind::varint;
        std::uint64_t whole = 0;  ///< of all but bytes
        std::string_view bytes;   ///< a text, a message or a packed list; lives as long as the message's own
    };

    /// `place` is named in errors: a file, or a part of one.
    WireMessage(std::string_view bytes, std::string place) : rest_{bytes}, place_{std::move(place)} {}

    [[nodiscard]] const std::string& place() const { return place_; }

    /// The next field; nothing after the last. Throws Error for what is no such message.
    [[nodiscard]] std::optional<Field> next() {
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
    /// Throw Error unless the field is of the kind.
    [[nodiscard]] std::string_view bytes_of(const Field& field) const { return require(field, Kind::bytes).bytes; }
    [[nodiscard]] std::uint64_t whole_of(const Field& field) const { return require(field, Kind::varint).whole; }
    [[nodiscard]] float number_of(const Field& field) const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(require(field, Kind::fixed32).whole));
    }
    [[nodiscard]] Error damaged(const std::string& what) const { return {Errc::bad_value, place_ + ": damaged: " + what}; }

private:
    [[nodiscard]] const Field& require(const Field& field, Kind kind) const {
        if (field.kind != kind) throw damaged("field " + std::to_string(field.number) + " is of another kind");
        return field;
    }
    std::string_view take(std::uint64_t bytes) {
        if (bytes > rest_.size()) throw damaged("it ends inside a field");
        const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(bytes));
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::uint64_t fixed(std::size_t bytes) {
        const std::string_view taken = take(bytes);
        std::uint64_t whole = 0;
        for (std::size_t i = 0; i < bytes; ++i) whole |= std::uint64_t{static_cast<unsigned char>(taken[i])} << 8 * i;
        return whole;
    }
    std::uint64_t varint() {
        std::uint64_t whole = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1).front());
            whole |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80) return whole;
        }
        throw damaged("a number of more than 64 bits");
    }

    std::string_view rest_;
    std::string place_;
};

}  // namespace hpo::text
