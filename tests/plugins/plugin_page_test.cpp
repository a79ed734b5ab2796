// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream{std::filesystem::path{HPO_SOURCE_DIR} / file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

/// The blocks of a page that are marked as C++.
std::vector<std::string> blocks_of(const std::string& page) {
    const std::string opening = "```cpp\n";
    std::vector<std::string> blocks;
    for (auto at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
        at += opening.size();
        blocks.push_back(page.substr(at, page.find("```", at) - at));
    }
    return blocks;
}

}  // namespace

TEST_CASE("the C++ on the page about plugins is text of files that are compiled") {
    const std::string sources = text_of("examples/plugins/adding_problem/adding_problem.hpp") +
                                text_of("examples/plugins/adding_problem/adding_problem.cpp") + text_of("plugins/quadratic/quadratic.cpp") +
                                text_of("plugins/image_classifier/image_task.hpp") + text_of("examples/plugins/ring_gan/ring_gan.hpp");
    const auto blocks = blocks_of(text_of("docs/writing-a-plugin.md"));
    REQUIRE(blocks.size() == 6);
    for (const std::string& block : blocks) {
        CAPTURE(block);
        CHECK(sources.find(block) != std::string::npos);
    }
}

TEST_CASE("the C++ on the page about loops of one's own is text of examples that are compiled") {
    std::string sources;
    for (const char* name : {"060_retry_on_oom", "070_adaptive_batch", "080_batch_checks", "090_memory_monitor", "100_clean_up"})
        sources += text_of("examples/" + std::string{name} + ".cpp");
    const auto blocks = blocks_of(text_of("docs/own-loops.md"));
    REQUIRE(blocks.size() == 5);
    for (const std::string& block : blocks) {
        CAPTURE(block);
        CHECK(sources.find(block) != std::string::npos);
    }
}
