// SPDX-License-Identifier: MIT
#include <fstream>
#include <sstream>

#include "hpo/registry/builtins.hpp"
#include "support/catch.hpp"

TEST_CASE("docs/policies.md says what the policies say of themselves") {
    std::ifstream file{std::string{HPO_SOURCE_DIR} + "/docs/policies.md"};
    std::stringstream text;
    text << file.rdbuf();
    const std::string docs = text.str();
    REQUIRE_FALSE(docs.empty());
    const auto check = [&](const auto& registry) {
        for (const auto& entry : registry.entries()) {
            CHECK_THAT(docs, Catch::Contains("| `" + entry.name + "` | " + entry.summary + " |"));
            for (const auto& option : entry.options) {
                CAPTURE(entry.name);
                CHECK_THAT(docs, Catch::Contains("| `" + option.name + "` | " + option.default_text + " | " + option.help + " |"));
            }
        }
    };
    const auto registries = hpo::registry::builtin_registries();
    check(registries.samplers);
    check(registries.pruners);
    check(registries.guards);
    check(registries.recoveries);
}
