// SPDX-License-Identifier: MIT
#include "hpo/store/json_text.hpp"

#include <string>

#include "hpo/base/error.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::store;

namespace {

std::string nested_lists(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

}  // namespace

TEST_CASE("text of 500 levels is read and written again, and text of more is no JSON") {
    const std::string most = nested_lists(500);
    CHECK(json_value(parse_json(most)) == hpo::Value{most});
    CHECK(checked_json("trial 0", "a", most) == most);
    for (const std::size_t levels : {std::size_t{501}, std::size_t{200'000}}) {
        CHECK(parse_json(nested_lists(levels)).is_discarded());
        CHECK_FALSE(is_json(nested_lists(levels)));
        CHECK_THROWS_WITH(checked_json("trial 0", "a", nested_lists(levels)), Catch::Contains("expected JSON text of at most 500 levels"));
    }
    CHECK(is_json('"' + std::string(1000, '[') + '"'));
}

TEST_CASE("parameters that were enqueued with a value of 200,000 levels are as if there were none") {
    const auto fixed = [](const std::string& value) { return fixed_params({{"fixed_params", R"({"x": )" + value + "}"}}); };
    CHECK(fixed(nested_lists(200'000)).empty());
    REQUIRE(fixed(nested_lists(400)).size() == 1);
    CHECK(fixed(nested_lists(400))[0].second == hpo::Value{nested_lists(400)});
}
