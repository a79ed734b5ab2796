// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string bowl = R"(
local hpo = require "hpo"
return hpo.study {
  name = "a bowl", trainer = "quadratic", objective = { metric = "value", direction = "minimize" }, sampler = "random", pruner = "none",
  space = function(trial) trial:float("x", -5, 5) end,
}
)";

/// Runs the command with the folder for settings in the workshop.
CommandResult install(const Workshop& workshop, std::vector<std::string> more) {
    workshop.write("bowl.lua", bowl);
    std::vector<std::string> words{"/usr/bin/env",
                                   "XDG_CONFIG_HOME=" + workshop.path("config").string(),
                                   "HPO_PLUGIN_PATH=/plug ins/100%",
                                   tool("hpo-tune"),
                                   "install-service",
                                   "bowl.lua"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("the unit of a service starts the supervised run by absolute path in this folder, and quotes what systemd would read") {
    const Workshop workshop;
    const auto printed = install(workshop, {"--print", "--trials", "7", "--fix", "x=1", "--store", "50% $HOME \"b\".db"});
    INFO(printed.out << printed.error);
    REQUIRE(printed.status == 0);
    CHECK_THAT(printed.out, Contains("\nDescription=hpo study a bowl\n"));
    CHECK_THAT(printed.out, Contains("\nWorkingDirectory=" + fs::canonical(workshop.path()).string() + "\n"));
    CHECK_THAT(printed.out, Contains("\nEnvironment=\"HPO_PLUGIN_PATH=/plug ins/100%%\"\n"));
    CHECK_THAT(printed.out, Contains("\nExecStart=\"" + fs::canonical(tool("hpo-tune")).string() + "\" \"run\" \"bowl.lua\" "));
    CHECK_THAT(printed.out,
               Contains(R"("--store" "50%% $$HOME \"b\".db")") && Contains(R"("--trials" "7")") && Contains(R"("--fix" "x=1")"));
    CHECK_THAT(printed.out, Contains(R"("--progress" "plain")") && Contains("\"--supervise\"\n"));
    for (const char* line :
         {"Restart=on-abnormal", "KillMode=mixed", "OOMPolicy=continue", "SuccessExitStatus=130", "WantedBy=default.target"})
        CHECK_THAT(printed.out, Contains(std::string{"\n"} + line + "\n"));
    CHECK_FALSE(fs::exists(workshop.path("config")));
    const auto of_system = install(workshop, {"--print", "--system"});
    CHECK_THAT(of_system.out, Contains("\nUser=") && Contains("\nWantedBy=multi-user.target\n"));
}

TEST_CASE("a unit is written where systemd looks, with the commands that come next, and no other one is overwritten unasked") {
    const Workshop workshop;
    const auto wrote = install(workshop, {});
    INFO(wrote.error);
    REQUIRE(wrote.status == 0);
    const fs::path file = workshop.path("config/systemd/user/hpo-a\\x20bowl.service");
    REQUIRE(fs::exists(file));
    CHECK_THAT(wrote.out,
               Contains("enable --now 'hpo-a\\x20bowl.service'") && Contains("journalctl --user -u ") && Contains("enable-linger"));
    CHECK(install(workshop, {}).status == 0);  // the same again
    const auto differs = install(workshop, {"--trials", "7"});
    CHECK(differs.status == 2);
    CHECK_THAT(differs.error, Contains("exists already and differs; --replace replaces it"));
    CHECK(install(workshop, {"--trials", "7", "--replace"}).status == 0);
    CHECK_THAT(read_file(file), Contains(R"("--trials" "7")"));
    const auto wrong = install(workshop, {"--sampler", "tpee"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--sampler: unknown sampler 'tpee'"));
}

TEST_CASE("the unit keeps how often a run is restarted, and a wrong value is refused before it is written") {
    const Workshop workshop;
    CHECK_THAT(install(workshop, {"--print", "--restarts", "3", "--restart-pause", "2s"}).out,
               Contains(R"("--supervise" "--restarts" "3" "--restart-pause" "2s")"));
    const std::vector<std::pair<std::vector<std::string>, std::string>> refused{
        {{"--restarts", "many"}, "--restarts: got 'many'; " + whole_number_from(0, 1000000)},
        {{"--trials", "few"}, "--trials: got 'few'"},
        {{"--attempt-time", "soon"}, "--attempt-time: got 'soon'"},
        {{"--device", "gpu"}, "gpu"},
        {{"--min-free", "much"}, "--min-free: got 'much'"},
    };
    for (const auto& [words, message] : refused) {
        const auto wrong = install(workshop, words);
        CHECK(wrong.status == 2);
        CHECK_THAT(wrong.error, Contains(message));
    }
    CHECK_FALSE(fs::exists(workshop.path("config")));
}

TEST_CASE("systemd finds nothing wrong with the unit of a service") {
    const std::string analyze = "/usr/bin/systemd-analyze";
    if (!fs::exists(analyze)) {
        WARN("systemd-analyze is not there");
        return;
    }
    const Workshop workshop;
    const auto printed = install(workshop, {"--print", "--store", "50% $HOME \"b\".db", "--log", "run.log"});
    REQUIRE(printed.status == 0);
    workshop.write("hpo-bowl.service", printed.out);
    const auto verified = run_command(workshop, {analyze, "verify", "--man=no", workshop.file("hpo-bowl.service")});
    INFO(verified.out << verified.error);
    CHECK(verified.status == 0);
    CHECK_THAT(verified.error, !Contains("hpo-bowl.service"));  // its warnings name the file
}
