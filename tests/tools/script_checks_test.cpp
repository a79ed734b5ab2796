// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}

/// A study of the quadratic trainer with these lines before it, these members, and this space.
void write_study(const Workshop& workshop, const std::string& space, const std::string& more = "", const std::string& before = "") {
    workshop.write("s.lua",
                   "local hpo = require 'hpo'\n" + before +
                       "\nreturn hpo.study { name = 's', trainer = 'quadratic', objective = { metric = 'value', direction = 'minimize' },\n"
                       "sampler = 'random', pruner = 'none', trials = 3, progress = 'none', " +
                       more + "\nspace = function(trial)\n" + space + "\nend }\n");
}

constexpr const char* point = "trial:float('x', -5, 5) trial:float('y', -5, 5)";

/// What `check` and `run` say of the script, which must be the same error.
std::string refusal(const Workshop& workshop, const std::vector<std::string>& more = {}) {
    std::string text;
    for (const char* command : {"check", "run"}) {
        CAPTURE(command);
        std::vector<std::string> words{command, "s.lua"};
        words.insert(words.end(), more.begin(), more.end());
        const auto result = tune(workshop, words);
        CAPTURE(result.out, result.error);
        CHECK(result.status != 0);
        const std::string line = result.error.substr(0, result.error.find('\n'));
        if (text.empty()) text = line;
        CHECK(line == text);
    }
    return text;
}

int lines_with(const std::string& text, const std::string& words) {
    int count = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("the script in the README is the one that init writes, without its comments") {
    const auto bare = [](const std::string& script) {
        const std::string code = std::regex_replace(script, std::regex{" *--[^\n]*"}, "");
        return std::regex_replace(code, std::regex{"\n\n+"}, "\n");
    };
    const Workshop workshop;
    REQUIRE(tune(workshop, {"init", "first_study"}).status == 0);
    const std::string written = bare(read_file(workshop.path("first_study.lua")));
    const std::string readme = read_file(HPO_SOURCE_DIR "/README.md");
    const auto begin = readme.find('\n', readme.find("```lua")) + 1;
    CHECK("\n" + bare(readme.substr(begin, readme.find("```", begin) - begin)) == written);
}

TEST_CASE("check and run refuse a space that counts its calls, and one without parameters") {
    const Workshop workshop;
    write_study(workshop, "n = n + 1 trial:float('x' .. n, -5, 5)", "", "local n = 0");
    CHECK_THAT(refusal(workshop),
               Contains("s.lua: space: called again with the same values, it asks for 'x2'; expected a space that depends on its "
                        "trial alone"));
    write_study(workshop, "n = n + 1 trial:float('x', -5, 5) trial:require(n % 3 ~= 0, 'every third')", "", "local n = 0");
    CHECK_THAT(refusal(workshop),
               Contains("s.lua: space: called again with the same values, it refuses them: ") && Contains("every third"));
    write_study(workshop, "");
    CHECK_THAT(refusal(workshop), Contains("s.lua: space: it asks for no parameter; expected trial:float, trial:int or trial:categorical"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    write_study(workshop, std::string{"calls = calls + 1 "} + point, "", "local calls = 0");  // nothing hangs on it
    CHECK(tune(workshop, {"check", "s.lua"}).status == 0);
}

TEST_CASE("check and run refuse a store that cannot be written, and a study with other directions") {
    const Workshop workshop;
    write_study(workshop, point);
    CHECK_THAT(refusal(workshop, {"--store", "nowhere/s.db"}), Contains("store 'nowhere/s.db': its directory does not exist: nowhere"));
    std::filesystem::create_directory(workshop.path("folder.db"));
    CHECK_THAT(refusal(workshop, {"--store", "folder.db"}), Contains("store 'folder.db': is a directory"));
    CHECK_THAT(refusal(workshop, {"--study", "a\tb"}), Contains("a study named 'a\\x09b'"));
    if (::access("/proc/version", W_OK) != 0) {
        CHECK_THAT(refusal(workshop, {"--store", "/proc/version"}), Contains("store '/proc/version': cannot be written"));
    }
    {
        hpo::store::Sqlite store{workshop.path("other.db").string()};
        (void)store.open_study("s", std::vector{hpo::Direction::maximize}, hpo::Store::Open::create);
    }
    CHECK_THAT(refusal(workshop, {"--store", "other.db"}),
               Contains("store 'other.db', study 's': got directions minimize; expected the stored ones: maximize"));
}

namespace {

/// The words of a command before which a folder cannot be written, also by root, who needs a mount for it; empty where none can be made.
std::vector<std::string> where_read_only(const Workshop& workshop, const std::filesystem::path& folder) {
    if (::geteuid() != 0) {
        std::filesystem::permissions(folder, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
        return {"/usr/bin/env"};
    }
    const std::string mount = "mount --bind '" + folder.string() + "' '" + folder.string() + "' && mount -o remount,ro,bind '" +
                              folder.string() + "' && exec \"$@\"";
    const std::vector<std::string> words{"/usr/bin/env", "unshare", "--mount", "/bin/sh", "-c", mount, "sh"};
    auto trial = words;
    trial.emplace_back("true");
    return run_command(workshop, trial).status == 0 ? words : std::vector<std::string>{};
}

}  // namespace

TEST_CASE("check and run refuse a store in a folder that cannot be written, and take one that a link there names elsewhere") {
    const Workshop workshop;
    write_study(workshop, point);
    for (const char* folder : {"ro", "rw"}) std::filesystem::create_directory(workshop.path(folder));
    std::filesystem::create_symlink("../rw/real.db", workshop.path("ro/link.db"));
    std::filesystem::create_symlink("ro/link.db", workshop.path("two.db"));
    std::filesystem::create_symlink(workshop.path("ro") / "new.db", workshop.path("rw/back.db"));
    const auto words = where_read_only(workshop, workshop.path("ro"));
    if (words.empty()) {
        WARN("no read-only folder can be made here");
        return;
    }
    for (const char* command : {"check", "run"}) {
        CAPTURE(command);
        const auto with_store = [&](const std::string& store) {
            auto all = words;
            all.insert(all.end(), {tool("hpo-tune"), command, "s.lua", "--store", store});
            return run_command(workshop, all);
        };
        for (const auto& [store, folder] :
             {std::pair<std::string, std::string>{"ro/s.db", "ro"}, {"rw/back.db", workshop.path("ro").string()}}) {
            const auto refused = with_store(store);
            CHECK(refused.status != 0);
            CHECK_THAT(refused.error, Contains("store '" + store + "': its directory cannot be written: " + folder));
        }
        for (const char* store : {"ro/link.db", "two.db"}) {
            const auto taken = with_store(store);
            INFO(taken.error);
            CHECK(taken.status == 0);
        }
    }
    CHECK(std::filesystem::exists(workshop.path("rw/real.db")));
    // The usual store, which a program may not need.
    auto all = words;
    all.insert(all.end(), {"/bin/sh", "-c", "cd ro && exec \"$@\"", "sh", tool("hpo-tune"), "run", "--", "sh", "-c", "echo begins >&2"});
    const auto ran = run_command(workshop, all);
    const auto told = ran.error.find("note: store 'hpo.db': its directory cannot be written: .; --store PATH names another file");
    INFO(ran.error);
    CHECK(told < ran.error.find("begins"));
    std::filesystem::permissions(workshop.path("ro"), std::filesystem::perms::owner_all);
}

TEST_CASE("check tells a program's file that is not there, and remarks what a space or a command line leaves out") {
    const Workshop workshop;
    const auto check = [&](const std::string& program, const std::string& words, const std::string& space) {
        workshop.write("s.lua", "local hpo = require 'hpo'\nreturn hpo.study { name = 's', trainer = hpo.command { '" + program + "', " +
                                    words +
                                    " },\nobjective = { metric = 'v', direction = 'minimize' }, trials = 3,\nspace = function(trial)\n" +
                                    space + "\nend }\n");
        return tune(workshop, {"check", "s.lua"});
    };
    const auto missing = check("python3", "'nosuchfile.py', '{z}'", "trial:int('z', 1, 9)");
    CHECK(missing.status == 2);
    CHECK_THAT(missing.error, Contains("the file 'nosuchfile.py', which python3 is to run, is not there"));
    workshop.write("there.py", "");
    const auto remarked =
        check("python3", "'there.py', '{z}'",
              "trial:int('z', 1, 10, { step = 4 })\ntrial:float('f', 0, 1, { step = 0.3 })\ntrial:int('z', 1, 10, { step = 4 })");
    CHECK(remarked.status == 0);
    CHECK_THAT(remarked.out, Contains("s.lua:5: trial:int(\"z\"): 10 is never drawn, because step 4 does not divide the range; the largest "
                                      "value is 9\n"));
    CHECK_THAT(remarked.out, Contains("s.lua:6: trial:float(\"f\"): 1 is never drawn") && Contains("the largest value is 0.9\n"));
    CHECK_THAT(remarked.out,
               Contains("s.lua:7: trial:int(\"z\"): is asked for a second time in one trial; it keeps the value of s.lua:5\n"));
    CHECK_THAT(remarked.out,
               Contains("parameter 'f': no word of the command line has {f}, so the program gets it only if it reads HPO_PARAMS"));
    const auto clean = check("python3", "'there.py', '{z}'", "trial:int('z', 1, 9, { step = 4 })");
    CHECK(clean.out.find("never drawn") == std::string::npos);
    CHECK(clean.out.find("HPO_PARAMS") == std::string::npos);
    const auto environment = check("python3", "'there.py'", "trial:int('z', 1, 9)");  // it reads HPO_PARAMS
    CHECK(environment.out.find("no word of the command line") == std::string::npos);

    const auto nothing = tune(workshop, {"check", "nosuch.lua"});
    CHECK(nothing.status == 2);
    CHECK(nothing.error == "hpo-tune: error: nosuch.lua: cannot be read; expected a study script (a Lua file)\n");
}

TEST_CASE("the mistakes of a script are told with file, line and what to write instead") {
    const Workshop workshop;
    const auto error_of = [&](const std::string& space, const std::string& more = "") {
        write_study(workshop, space, more);
        return refusal(workshop);
    };
    CHECK_THAT(error_of("trial:float('x', 0, 1)\ntrial:require()"),
               Contains("s.lua:7: trial:require: got no condition; expected trial:require(CONDITION, \"reason\")"));
    CHECK_THAT(
        error_of("if trial:float('x', 0, 1) > 0.5 then\ntrial:categorical('y', { 1, 2 })\nelse\ntrial:categorical('y', { 1, 3 })\nend"),
        Contains("trial:categorical(\"y\"): got one of 1, ") && Contains("asks for it as one of 1, ") &&
            Contains("expected one distribution for each name; narrow it with min, max or only, or give it another name"));
    CHECK_THAT(error_of("trial:float('x', 0, 1)", "\nfix = { x = 7 },"),
               Contains("s.lua:5: fix: " + fixed_parameter("x", "7", "float [0, 1]")));
    CHECK_THAT(error_of("trial:float('x', 0, 1)", "\non_failure = function() return 'no' end,"),
               Contains("s.lua:5: on_failure: got a string for the answer; expected hpo.retry { ... }"));
    workshop.write("s.lua", "local hpo = require 'hpo'\nreturn hpo.study { name = 's', trainer = hpo.command \"python3 t.py {x}\" }");
    CHECK_THAT(refusal(workshop),
               Contains("s.lua:2: hpo.command: got a text for the command line; expected a list of its words: { \"python3\", \"t.py\", "
                        "\"{x}\" }"));
}

TEST_CASE("the script and the command line refuse the same values") {
    const Workshop workshop;
    write_study(workshop, point);
    CHECK_THAT(refusal(workshop, {"--trials", "0"}), Contains("--trials: got '0'; " + whole_number_of_at_least(1)));
    CHECK_THAT(tune(workshop, {"run", "s.lua", "--time", "0s"}).error, Contains("--time: got '0s'; expected a duration above 0"));
    CHECK_THAT(refusal(workshop, {"--set", "steps=3"}),
               Contains("unknown option 'steps'") && Contains("an option of the trainer is set by --trainer-option NAME=VALUE"));
    const std::string without_effect =
        "s.lua: the trainer's option 'x' has no effect: the space asks for a parameter of that name; to hold it: --fix x=3";
    CHECK_THAT(refusal(workshop, {"--trainer-option", "x=3"}), Contains(without_effect));
    write_study(workshop, "if trial:float('y', -5, 5) > 0 then trial:float('x', -5, 5) end");
    CHECK(tune(workshop, {"check", "s.lua", "--trainer-option", "x=3"}).status == 0);  // it holds where the space does not ask
    write_study(workshop, point);
    CHECK_THAT(refusal(workshop, {"--guard", "limit:bytes=5"}), Contains("got 5 bytes; expected a size of at least 1.00 MiB"));
    CHECK_THAT(refusal(workshop, {"--plan", "cap_bytes=5"}), Contains("--plan cap_bytes: got '5'; expected a size of at least 1.00 MiB"));
    write_study(workshop, point, "guard = 'limit:bytes=5',");
    CHECK_THAT(refusal(workshop), Contains(": guard: limit: bytes: got 5 bytes; expected a size of at least 1.00 MiB"));
    write_study(workshop, point, "threads = 0,");
    CHECK_THAT(refusal(workshop), Contains(": threads: got '0'; " + whole_number_from(1, 1024)));
    write_study(workshop, point, "target_share = 2,");
    CHECK_THAT(refusal(workshop), Contains(": target-share: got '2'; expected auto, or above 0 to 1"));
    write_study(workshop, point, "plugin_timeout = 'soon',");
    CHECK_THAT(refusal(workshop), Contains(": plugin-timeout: got 'soon'; expected a duration"));
    write_study(workshop, point);
    std::string loud = read_file(workshop.path("s.lua"));
    loud.replace(loud.find("'none', \n"), 6, "'loud'");
    workshop.write("s.lua", loud);
    CHECK_THAT(refusal(workshop), Contains(": progress: got 'loud'; expected auto, bar, plain or none"));
}

TEST_CASE("an error of a script's option or policy names the line of that member") {
    const Workshop workshop;
    workshop.write("s.lua", R"(local hpo = require "hpo"

return hpo.study {
  name = "s", trainer = "quadratic",
  objective = { metric = "value", direction = "minimize" },
  sampler = "tpee",
  time = "soon",
  space = function(trial) trial:float("x", -5, 5) end,
}
)");
    const auto checked = tune(workshop, {"check", "s.lua"});
    CHECK(checked.status == 2);
    CHECK_THAT(checked.error, Contains("error: s.lua:6: sampler: unknown sampler 'tpee'; " + did_you_mean("tpe")) &&
                                  Contains("error: s.lua:7: time: got 'soon'; expected a duration"));
}

TEST_CASE("what a space prints is shown once for each trial, and not while proposals are looked at") {
    const Workshop workshop;
    write_study(workshop, std::string{"local x = trial:float('x', -5, 5) print('x was drawn') trial:require(x > -4, 'low') "} + point, "",
                "print('loaded')");
    const auto ran = tune(workshop, {"run", "s.lua", "--workers", "1"});
    CHECK(ran.status == 0);
    CHECK(lines_with(ran.error, "loaded\n") == 1);
    CHECK(lines_with(ran.error, "x was drawn\n") == 3);
    for (const char* command : {"check", "space", "estimate"}) {
        CAPTURE(command);
        const auto looked = tune(workshop, {command, "s.lua"});
        CHECK(lines_with(looked.error, "loaded\n") == 1);
        CHECK(lines_with(looked.error, "drawn") == 0);
    }
    CHECK(lines_with(tune(workshop, {"try", "s.lua"}).error, "x was drawn\n") == 1);
}

TEST_CASE("space counts what is left under fixed values, and refuses those that do not exist") {
    const Workshop workshop;
    const std::string space = R"(
        local kind = trial:categorical('kind', { 'a', 'b' })
        local x = trial:int('x', 1, 10)
        trial:require(kind == 'b' or x < 9, 'no')
        trial:int('y', 1, 10)
        if kind == 'b' then trial:int('z', 1, 5) end
        trial:float('lr', 0, 1))";
    write_study(workshop, space);
    const auto counted = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"space", "s.lua", "--json"});
        const auto result = tune(workshop, more);
        INFO(result.error);
        REQUIRE(result.status == 0);
        return json::parse(result.out);
    };
    const json all = counted({});
    CHECK(all["combinations"] == 80 + 500);
    CHECK(all["refused"] == 20);
    CHECK(all["refused_is"] == "exact");
    CHECK(all["fixed"] == json::object());
    const json one = counted({"--fix", "x=3"});
    CHECK(one["combinations"] == 10 + 50);
    CHECK(one["refused"] == 0);
    CHECK(one["fixed"] == json{{"x", 3}});
    const json part = counted({"--fix", "kind=a", "--fix", "lr=0.5"});
    CHECK(part["combinations"] == 80);
    CHECK(part["refused"] == 20);
    CHECK(part["continuous"].empty());
    CHECK_THAT(tune(workshop, {"space", "s.lua", "--fix", "kind=a"}).out,
               Contains("80 combinations in all; require refuses 20 others, 20 % of the space\nfixed: kind = a\n"));
    const auto refused = [&](const std::string& fix) {
        const auto result = tune(workshop, {"space", "s.lua", "--fix", fix});
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        return result.error;
    };
    CHECK_THAT(refused("x=77"), Contains(fixed_parameter("x", "77", "int [1, 10]")));
    CHECK_THAT(refused("kind=c"), Contains(fixed_parameter("kind", "c", "one of a, b")));
    CHECK_THAT(refused("knd=a"), Contains("--fix: unknown parameter 'knd'; " + did_you_mean("kind")));
    CHECK_THAT(tune(workshop, {"space", "s.lua", "--fix", "x=3", "--fix", "x=4"}).error,
               Contains("--fix x: got 3 and 4; expected one value"));
    write_study(workshop, space, "fix = { x = 3 },");
    CHECK(counted({})["combinations"] == 10 + 50);
    CHECK(counted({"--fix", "x=4"})["fixed"] == json{{"x", 4}});
    write_study(workshop, space, "fix = { x = 77 },");
    CHECK_THAT(tune(workshop, {"space", "s.lua"}).error, Contains(fixed_parameter("x", "77", "int [1, 10]")));
}

TEST_CASE("a fixed value that no branch has is refused, although other branches do not ask for its parameter") {
    const Workshop workshop;
    write_study(workshop, R"(trial:float("x", -5, 5)
    local kind = trial:categorical("kind", { "mlp", "cnn" })
    if kind == "mlp" then trial:int("width", 64, 512, { step = 64 }) else trial:int("channels", 1, 4) end)");
    for (const char* const command : {"space", "check", "run"}) {
        CAPTURE(command);
        const auto result = tune(workshop, {command, "s.lua", "--fix", "width=65"});
        CHECK(result.status == 2);
        CHECK_THAT(result.error, Contains(fixed_parameter("width", "65", "int [64, 512] step 64")));
    }
    const auto part = tune(workshop, {"space", "s.lua", "--fix", "width=128", "--json"});
    CHECK(part.status == 0);
    CHECK(part.error.empty());
}

TEST_CASE("a fixed name that is an option of the trainer is told where it goes") {
    const Workshop workshop;
    write_study(workshop, point);
    CHECK_THAT(
        tune(workshop, {"run", "s.lua", "--fix", "steps=3"}).error,
        Contains("--fix: unknown parameter 'steps'; known: x, y; 'steps' is an option of trainer quadratic. It goes into the script: "
                 "trainer = { \"quadratic\", steps = 3 }, or on the command line: --trainer-option steps=3\n"));
    CHECK_THAT(
        tune(workshop, {"run", "s.lua", "--fix", "stpes=3"}).error,
        Contains(
            "; did you mean the option 'steps' of trainer quadratic? It goes into the script: trainer = { \"quadratic\", steps = 3 }"));
    CHECK_THAT(tune(workshop, {"run", "s.lua", "--fix", "nothing_like_it=3"}).error, Contains("known: x, y\n"));
}

TEST_CASE("estimate says why nothing is predicted") {
    const Workshop workshop;
    write_study(workshop, point);
    const auto told = tune(workshop, {"estimate", "s.lua"});
    CHECK(told.status == 0);
    CHECK_THAT(told.out, Contains("not predicted: the guard calibrated needs the memory of the device: give --device-memory"));
    const auto nothing_known = tune(workshop, {"estimate", "s.lua", "--device-memory", "1GiB"});
    CHECK_THAT(nothing_known.out, Contains("not known") && Contains("predictions: too few trials of hpo.db show what they take"));
    CHECK_THAT(nothing_known.out, !Contains("100 %"));
    CHECK_THAT(tune(workshop, {"estimate", "s.lua", "--guard", "unlimited"}).out,
               Contains("not predicted: the guard unlimited makes no predictions"));
    for (const char* guard : {"dry_run", "probe"}) {
        const auto all = tune(workshop, {"estimate", "s.lua", "--space", "--device-memory", "1GiB", "--guard", guard});
        INFO(all.out << all.error);
        CHECK_THAT(all.out, Contains("predictions: the guard " + std::string{guard} +
                                     " cannot predict trainer quadratic, which has neither a dry run"));
    }
}

TEST_CASE("a parameter that is fixed twice is refused by check-plugin, as by run") {
    const Workshop workshop;
    const auto refused = tune(workshop, {"check-plugin", "quadratic", "--fix", "x=1", "--fix", "x=2"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, Contains("--fix x: got 1 and 2; expected one value"));
}

#ifdef HPO_HAS_IMAGE_CLASSIFIER
TEST_CASE("some configurations of the study that init writes fit its device with a smaller micro-batch alone") {
    const Workshop workshop;
    REQUIRE(tune(workshop, {"init", "first"}).status == 0);
    const auto result = tune(workshop, {"estimate", "first.lua", "--space", "--within", "1h", "--json"});
    INFO(result.error);
    REQUIRE(result.status == 0);
    const json space = json::parse(result.out)["space"];
    CHECK(space["combinations"] == 48);
    CHECK(space["complete"] == true);
    CHECK(space["fit_with_a_smaller_micro_batch"] > 0);
    CHECK(space["fit_as_they_are"] > space["fit_with_a_smaller_micro_batch"]);
    CHECK(space["never_fit"] == 0);
}
#endif
