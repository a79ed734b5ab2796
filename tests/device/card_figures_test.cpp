// SPDX-License-Identifier: MIT
#include "hpo/device/card_figures.hpp"

#include "support/catch.hpp"

using namespace hpo::device;

TEST_CASE("the figures of a card are read by their whole key") {
    constexpr std::string_view figures = "name=RTX 4090;capability=89;memory=25383927808;total_memory=1;state=/tmp/a=b;quiet=";
    static_assert(card_figure(figures, "name") == "RTX 4090");
    CHECK(card_figure(figures, "state") == "/tmp/a=b");
    CHECK(card_figure(figures, "quiet").empty());
    CHECK(card_figure(figures, "mem").empty());
    CHECK(card_figure("", "name").empty());
    CHECK(card_figure(";;name=x;", "name") == "x");
    CHECK(card_figure_number(figures, "capability", 80) == 89);
    CHECK(card_figure_number(figures, "memory") == 25'383'927'808);
    CHECK(card_figure_number(figures, "multiprocessors", 108) == 108);
    CHECK(card_figure_number(figures, "name", 7) == 7);
    CHECK(card_figure_number("count=3x", "count", 1) == 1);
}
