// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

CommandResult new_plugin(const Workshop& workshop, const std::vector<std::string>& words) {
    std::vector<std::string> command{tool("hpo-tune"), "new-plugin"};
    command.insert(command.end(), words.begin(), words.end());
    return run_command(workshop, command);
}

}  // namespace

TEST_CASE("new-plugin writes a project, tells how to build it, and overwrites nothing") {
    const Workshop workshop;
    for (const auto& [name, option] : {std::pair<std::string, std::string>{"mine", ""}, {"other_1", "--plain"}}) {
        std::vector<std::string> words{name};
        if (!option.empty()) words.push_back(option);
        const auto made = new_plugin(workshop, words);
        INFO(made.error);
        CHECK(made.status == 0);
        CHECK_THAT(made.out, Contains("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=") &&
                                 Contains("ctest --test-dir build") && Contains("hpo-tune run " + name + ".lua --plugin-dir"));
        for (const std::string& file : {std::string{"CMakeLists.txt"}, name + ".cpp", name + ".lua"}) {
            const std::string text = read_file(workshop.path(name) / file);
            CHECK_THAT(text, Contains(name) && !Contains("%") && !Contains("SPDX"));
        }
        CHECK_THAT(read_file(workshop.path(name) / "CMakeLists.txt"), Contains("-DCMAKE_BUILD_TYPE=Release") && Contains("check-plugin"));
        const auto again = new_plugin(workshop, words);
        CHECK(again.status == 2);
        CHECK(again.error == "hpo-tune: error: " + name + ": exists already; give another name, or remove it first\n");
    }
    CHECK_THAT(read_file(workshop.path("mine") / "mine.cpp"), Contains("hpo::libtorch::Task"));
    const std::string plain = read_file(workshop.path("other_1") / "other_1.cpp");
    CHECK_THAT(plain, !Contains("torch/"));
    const auto announced = plain.find("progress.last_step(steps);");
    CHECK(announced < plain.find("progress.report("));  // else a pruner loses trials that have finished
}

TEST_CASE("a name that is no plugin's is one clear error, and leaves nothing behind") {
    const Workshop workshop;
    for (const std::string name : {"", "1st", "my-plugin", "a b", "../up.d", "ümlaut", "x\ny", "_x", "folder/", "."}) {
        CAPTURE(name);
        const auto result = new_plugin(workshop, {name});
        CHECK(result.status == 2);
        CHECK_THAT(result.error, Contains("hpo-tune: error: "));
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
    }
    CHECK_THAT(new_plugin(workshop, {"command"}).error,
               Contains("got 'command'; expected another name, because a trainer of hpo has this one"));
    CHECK_THAT(new_plugin(workshop, {"my-plugin"}).error, Contains("expected a name of letters, digits and '_' that begins with a letter"));
    CHECK_THAT(new_plugin(workshop, {"missing/mine"}).error, Contains("missing/mine: the folder cannot be made"));
    for (const auto& entry : std::filesystem::directory_iterator{workshop.path()}) {
        CHECK(entry.path().filename().string().starts_with("."));
    }
}
