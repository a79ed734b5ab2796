// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/catch.hpp"

namespace {

std::string text_of_source(const std::filesystem::path& file) {
    std::ifstream stream{std::filesystem::path{HPO_SOURCE_DIR} / file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

}  // namespace

TEST_CASE("the C++ on the page about tuning in a C++ program is text of examples that are compiled") {
    std::string sources;
    for (const char* name : {"010_quadratic", "130_own_guard", "140_halving_recovery", "160_watch_a_study"})
        sources += text_of_source("examples/" + std::string{name} + ".cpp");
    const std::string page = text_of_source("docs/tuning-in-cpp.md");
    const std::string opening = "```cpp\n";
    int blocks = 0;
    for (auto at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
        at += opening.size();
        const std::string block = page.substr(at, page.find("```", at) - at);
        CAPTURE(block);
        CHECK(sources.find(block) != std::string::npos);
        ++blocks;
    }
    CHECK(blocks == 6);
}
