// SPDX-License-Identifier: MIT
#include "hpo/dataset/sha256.hpp"

#include <algorithm>
#include <string>

#include "support/catch.hpp"

using hpo::dataset::hex_text;
using hpo::dataset::sha256;
using hpo::dataset::Sha256;

TEST_CASE("SHA-256 gives the standard's examples") {
    CHECK(hex_text(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(hex_text(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hex_text(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(hex_text(sha256(std::string(1'000'000, 'a'))) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("how the bytes are divided into pieces changes nothing") {
    const std::string text(200, 'x');
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const auto whole = sha256(text.substr(0, length));
        Sha256 pieces;
        for (std::size_t at = 0; at < length; at += 7) pieces.add(std::string_view{text}.substr(at, std::min<std::size_t>(7, length - at)));
        CHECK(pieces.finish() == whole);
    }
}
