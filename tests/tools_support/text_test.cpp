// SPDX-License-Identifier: MIT
#include "support/text.hpp"

#include "support/catch.hpp"

TEST_CASE("a share that is not nothing never reads as nothing") {
    using hpo::tools::percent;
    CHECK(percent(0) == "0 %");
    CHECK(percent(1e-5) == "0.001 %");
    CHECK(percent(0.0004) == "0.04 %");
    CHECK(percent(0.004) == "0.4 %");
    CHECK(percent(0.03) == "3 %");
    CHECK(percent(-0.003) == "-0.3 %");
    CHECK(percent(-0.25) == "-25 %");
    CHECK(percent(0.424) == "42 %");
    CHECK(percent(0.99) == "99 %");
    CHECK(percent(0.9975) == "99.8 %");
    CHECK(percent(0.99996) == "99.996 %");
    CHECK(percent(1) == "100 %");
    CHECK(percent(1.13) == "113 %");
}

TEST_CASE("retries are counted in English") {
    CHECK(hpo::tools::retries_text(0) == "0 retries");
    CHECK(hpo::tools::retries_text(1) == "1 retry");
    CHECK(hpo::tools::retries_text(2) == "2 retries");
}
