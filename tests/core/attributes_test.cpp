// SPDX-License-Identifier: MIT
#include "hpo/core/attributes.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/catch.hpp"

TEST_CASE("a number that is assigned to an attribute is a number, never a character") {
    hpo::Attributes attributes;
    attributes["examples"] = std::int64_t{65};
    attributes["bytes"] = std::numeric_limits<std::uint64_t>::max();
    attributes["small"] = 7;
    attributes["nothing"] = 0;
    attributes["accuracy"] = 0.5;
    attributes["early"] = true;
    attributes["text"] = "\"JSON already\"";
    CHECK(attributes.at("examples") == "65");
    CHECK(attributes.at("bytes") == "18446744073709551615");
    CHECK(attributes.at("small") == "7");
    CHECK(attributes.at("nothing") == "0");
    CHECK(attributes.at("accuracy") == "0.5");
    CHECK(attributes.at("early") == "true");
    CHECK(attributes.at("text") == "\"JSON already\"");
}

TEST_CASE("attributes are set as a text, a number or JSON, and later ones replace earlier ones") {
    hpo::Attributes attributes;
    attributes.set_text("data_hash", "sum \"1\"\n");
    attributes.set_number("epochs", 3);
    attributes.set_number("loss", std::numeric_limits<double>::quiet_NaN());
    attributes.set_json("sizes", "[1, 2]");
    attributes.set_text("sizes", "none");
    CHECK(attributes == hpo::Attributes{{"data_hash", "\"sum \\\"1\\\"\\n\""}, {"epochs", "3"}, {"loss", "NaN"}, {"sizes", "\"none\""}});
    const std::string& read = attributes["epochs"];
    CHECK(read == "3");
}

TEST_CASE("an attribute is copied from another, of the same trial or of another one") {
    hpo::Attributes from;
    from["hash"] = "\"abc\"";
    hpo::Attributes to;
    to["copy"] = from["hash"];
    to["again"] = to["copy"];
    to["again"] = to["again"];
    CHECK(to == hpo::Attributes{{"copy", "\"abc\""}, {"again", "\"abc\""}});
    CHECK(from.size() == 1);
}
