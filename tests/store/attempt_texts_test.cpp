// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/attempt_rows.hpp"
#include "support/catch.hpp"

using hpo::EstimatePart;
using hpo::MemoryNeighbour;

TEST_CASE("the parts of an estimate are stored in their order") {
    const std::vector<EstimatePart> parts{{"weights", 10}, {"act \"1\"", -20}, {"weights", 30}};
    CHECK(hpo::store::parts_text(parts) == R"([["weights",10],["act \"1\"",-20],["weights",30]])");
    CHECK(hpo::store::parse_parts(hpo::store::parts_text(parts)) == parts);
    for (const char* other : {"", "[]", "{}", "7", "[7]", R"([["weights"]])", R"([["weights","10"]])", "[["}) {
        CHECK(hpo::store::parse_parts(other).empty());
    }
}

TEST_CASE("the neighbours of a reading are stored with the program where it is known") {
    const std::vector<MemoryNeighbour> neighbours{{12, 100, ""}, {13, 200, "python"}};
    CHECK(hpo::store::neighbours_text(neighbours) == R"([{"pid":12,"bytes":100},{"pid":13,"bytes":200,"program":"python"}])");
    CHECK(hpo::store::parse_neighbours(*hpo::store::neighbours_text(neighbours)) == neighbours);
    CHECK_FALSE(hpo::store::neighbours_text({}));
}
