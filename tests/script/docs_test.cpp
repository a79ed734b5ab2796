// SPDX-License-Identifier: MIT
#include <fstream>
#include <string>
#include <vector>

#include "hpo/script/study_script.hpp"
#include "hpo/space/count.hpp"
#include "support/catch.hpp"

namespace {

/// The blocks marked `lua` of a Markdown file.
std::vector<std::string> lua_blocks(const std::string& path) {
    std::ifstream file{path};
    std::vector<std::string> blocks;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (!inside && line == "```lua") {
            inside = true;
            blocks.emplace_back();
        } else if (inside && line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += line + "\n";
        }
    }
    return blocks;
}

}  // namespace

TEST_CASE("every Lua block of the reference loads and can be counted") {
    const auto blocks = lua_blocks(HPO_SOURCE_DIR "/docs/writing-a-study-script.md");
    REQUIRE(blocks.size() >= 8);
    for (const std::string& block : blocks) {
        CAPTURE(block);
        const bool whole = block.starts_with("local hpo");
        const std::string text = whole ? block
                                       : "local hpo = require 'hpo' return hpo.study { name = 'd', trainer = 't', objective = { metric = "
                                         "'m', direction = 'minimize' }, "
                                         "space = function(trial)\n" +
                                             block + "end }";
        const auto script = hpo::script::StudyScript::from_text(text, "writing-a-study-script.md",
                                                                {.module_folders = {HPO_SOURCE_DIR "/scripts/lua/rules"}});
        CHECK(hpo::count(script.space()).combinations >= 1);
    }
}
