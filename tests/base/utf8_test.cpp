// SPDX-License-Identifier: MIT
#include "hpo/base/utf8.hpp"

#include <string>
#include <string_view>

#include "support/catch.hpp"

using hpo::find_invalid_utf8;
using hpo::utf8_length;

TEST_CASE("a character's length is told by its first byte, where its other bytes follow") {
    const std::string_view text = "a\u00e9\u20ac\U0001F600";
    CHECK(utf8_length(text, 0) == 1);
    CHECK(utf8_length(text, 1) == 2);
    CHECK(utf8_length(text, 3) == 3);
    CHECK(utf8_length(text, 6) == 4);
    CHECK(utf8_length(text, 2) == 0);
    CHECK(utf8_length(text, text.size()) == 0);
    CHECK(find_invalid_utf8(text) == std::string_view::npos);
    CHECK(find_invalid_utf8({"\0", 1}) == std::string_view::npos);
}

TEST_CASE("exactly the scalar values of Unicode are well-formed") {
    const auto encoded = [](unsigned point, std::size_t length) {
        std::string bytes;
        for (std::size_t i = length; i-- > 1; point >>= 6U) bytes.insert(bytes.begin(), static_cast<char>(0x80U | (point & 0x3FU)));
        constexpr unsigned marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
        return static_cast<char>(marks[length] | point) + bytes;
    };
    int wrong = 0;
    for (unsigned point = 0; point < 0x140000; ++point) {
        const bool scalar = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
        const std::size_t shortest = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        for (std::size_t length = shortest; length <= 4; ++length) {
            const std::string bytes = encoded(point, length);
            const std::size_t expected = scalar && length == shortest ? length : 0;
            if (utf8_length(bytes, 0) != expected) ++wrong;
            if (length > 1 && utf8_length(std::string_view{bytes}.substr(0, length - 1), 0) != 0) ++wrong;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("the first byte that is not UTF-8 is found") {
    CHECK(find_invalid_utf8("abc\xFF") == 3);
    CHECK(find_invalid_utf8("\u20ac\xE2\x82") == 3);
    CHECK(find_invalid_utf8("\x80") == 0);
    CHECK(find_invalid_utf8("\xFE\xFF") == 0);
}
