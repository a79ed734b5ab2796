// SPDX-License-Identifier: MIT
#include "hpo/base/bytes.hpp"

#include "support/catch.hpp"

TEST_CASE("sizes are read with binary and decimal units") {
    CHECK(hpo::parse_bytes("600MiB") == 600LL * 1024 * 1024);
    CHECK(hpo::parse_bytes("1.5 GiB") == 1610612736LL);
    CHECK(hpo::parse_bytes("11GB") == 11'000'000'000LL);
    CHECK(hpo::parse_bytes("2k") == 2048);
    CHECK(hpo::parse_bytes("4096") == 4096);
    CHECK(hpo::parse_bytes("1e9") == 1'000'000'000);  // as Lua writes numbers
    CHECK(hpo::parse_bytes("2.5e+03 KiB") == 2560000);
    CHECK(hpo::parse_bytes("4611686018427387904") == std::int64_t{1} << 62);
    CHECK(hpo::parse_bytes("0") == 0);
}

TEST_CASE("what is not a size is refused") {
    for (const char* text :
         {"", "MiB", "-1", "-600MiB", "12 parsecs", "1e400", "1e19", "5EiB", "1e", "nan", "inf", "9999999PiB", "1.2.3MiB"}) {
        CAPTURE(text);
        CHECK_FALSE(hpo::parse_bytes(text));
    }
    CHECK_THROWS_WITH(hpo::require_bytes("--device-memory", "lots"), Catch::Contains("--device-memory: got 'lots'; expected a size"));
}

TEST_CASE("sizes are written as PyTorch writes them") {
    CHECK(hpo::format_bytes(0) == "0 bytes");
    CHECK(hpo::format_bytes(1023) == "1023 bytes");
    CHECK(hpo::format_bytes(377487360) == "360.00 MiB");
    CHECK(hpo::format_bytes(25297511055) == "23.56 GiB");
}
