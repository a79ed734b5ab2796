// SPDX-License-Identifier: MIT
#include "hpo/base/shown_text.hpp"

#include <string>

#include "hpo/base/plain_text.hpp"
#include "support/catch.hpp"

using hpo::shown;

TEST_CASE("a text of any bytes is shown in one line of plain text") {
    CHECK(shown("sections, \u00e9\u20ac") == "sections, \u00e9\u20ac");
    CHECK(shown("a\nb\r\t\"c\\") == R"(a\nb\r\t\"c\\)");
    CHECK(shown("\x1b[31m\x7f") == R"(\u001b[31m\u007f)");
    CHECK(shown("\u0080\u009b\u00a0") == "\\u0080\\u009b\u00a0");
    CHECK(shown("a\xff\xe2\x82") == R"(a\xff\xe2\x82)");
    std::string every;
    for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
    for (int byte = 0; byte < 256; ++byte) (every += '\xc2') += static_cast<char>(byte);
    CHECK(hpo::is_plain_text(shown(every, every.size())));
}

TEST_CASE("a long text is cut between two characters") {
    CHECK(shown(std::string(60, 'a')) == std::string(60, 'a'));
    CHECK(shown(std::string(61, 'a')) == std::string(60, 'a') + "...");
    CHECK(shown("ab\u20acd", 3) == "ab\u20ac...");
    CHECK(shown(std::string(61, 'a'), 100) == std::string(61, 'a'));
}
