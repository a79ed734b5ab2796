// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::text {

/// Reads a message in the wire format of protocol buffers, one field after the other.
class WireMessage {
public:
    enum class Kind : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
    struct Field {
        std::uint64_t number = 0;
        Kind kind = Kind::varint;
        std::uint64_t whole = 0;  ///< the value of a field of any other kind than bytes
        std::string_view bytes;   ///< a text, a message or a packed list; lives as long as the bytes of the message
    };

    /// `place` is a file or a part of one, for errors.
    WireMessage(std::string_view bytes, std::string place) : rest_{bytes}, place_{std::move(place)} {}

    [[nodiscard]] const std::string& place() const { return place_; }

    /// The next field. Returns nullopt after the last. Throws Error if the bytes are no such message.
    [[nodiscard]] std::optional<Field> next();
    /// The value of a field. These throw Error if the field is of another kind.
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
    std::string_view take(std::uint64_t bytes);
    std::uint64_t fixed(std::size_t bytes);
    std::uint64_t varint();

    std::string_view rest_;
    std::string place_;
};

}  // namespace hpo::text
