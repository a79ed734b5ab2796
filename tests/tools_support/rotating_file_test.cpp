// SPDX-License-Identifier: MIT
#include "support/rotating_file.hpp"

#include <cstddef>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using hpo::tools::RotatingFile;

namespace {

std::vector<std::string> lines_in(const std::filesystem::path& path) {
    std::vector<std::string> lines;
    for (int part = 0; part <= RotatingFile::kept_parts; ++part) {
        std::istringstream text{hpo::test::read_file(part == 0 ? path.string() : path.string() + "." + std::to_string(part))};
        for (std::string line; std::getline(text, line);) lines.push_back(line);
    }
    return lines;
}

std::string line_of(int process, int number) {
    return "process " + std::to_string(process) + " line " + std::to_string(number) + " " + std::string(20, 'x') + ".";
}

}  // namespace

TEST_CASE("a rotating file keeps four older parts, none above its size, the newest first") {
    const hpo::tests::TemporaryDirectory folder;
    const auto path = folder.path("run.log");
    RotatingFile file{path, 100, "--log"};
    for (int i = 0; i < 40; ++i) REQUIRE(file.append("line " + std::to_string(i) + " 4567890123456789\n"));
    CHECK(std::filesystem::file_size(path) <= 100);
    CHECK_FALSE(std::filesystem::exists(path.string() + ".5"));
    const auto lines = lines_in(path);
    REQUIRE_FALSE(lines.empty());
    CHECK(std::filesystem::exists(path.string() + ".4"));
    CHECK(lines_in(path).back() < lines.front());
    CHECK(hpo::test::read_file(path).find("line 39 ") != std::string::npos);
}

TEST_CASE("several processes append to one rotating file, and no line is lost, doubled or torn") {
    const hpo::tests::TemporaryDirectory folder;
    const auto path = folder.path("run.log");
    constexpr int processes = 3;
    constexpr int lines = 400;
    std::vector<hpo::tests::ChildProcess> children;
    for (int process = 0; process < processes; ++process) {
        children.emplace_back([&path, process](const auto&) {
            RotatingFile file{path, 20'000, "--log"};
            for (int i = 0; i < lines; ++i) file.append(line_of(process, i) + "\n");
        });
    }
    for (auto& child : children) CHECK(child.lines().empty());
    std::multiset<std::string> expected;
    for (int process = 0; process < processes; ++process) {
        for (int i = 0; i < lines; ++i) expected.insert(line_of(process, i));
    }
    const auto found = lines_in(path);
    CHECK(std::multiset<std::string>(found.begin(), found.end()) == expected);
    CHECK(std::filesystem::exists(path.string() + ".2"));  // else nothing was rotated
}

TEST_CASE("a rotating file that was removed is made again") {
    const hpo::tests::TemporaryDirectory folder;
    const auto path = folder.path("run.log");
    RotatingFile file{path, 1000, "--log"};
    CHECK(file.append("before\n"));
    std::filesystem::remove(path);
    CHECK(file.append("after\n"));
    CHECK(hpo::test::read_file(path) == "after\n");
}

TEST_CASE("a rotating file on a full disk says why it cannot be written") {
    RotatingFile file{"/dev/full", 1000, "--log"};
    CHECK_FALSE(file.append("line\n"));
    CHECK(file.problem() == "/dev/full: No space left on device");
}

TEST_CASE("a line that a full disk cut off is ended before another process appends its lines") {
    const hpo::tests::TemporaryDirectory folder;
    const auto path = folder.path("run.log");
    hpo::test::write_file(path, "whole\ncut o");
    RotatingFile file{path, 1000, "--log"};
    CHECK(file.append("first\n"));
    CHECK(file.append("second\n"));
    RotatingFile again{path, 1000, "--log"};
    CHECK(again.append("third\n"));
    CHECK(hpo::test::read_file(path) == "whole\ncut o\nfirst\nsecond\nthird\n");
}

TEST_CASE("a rotating file that cannot be opened is one clear error") {
    const hpo::tests::TemporaryDirectory folder;
    try {
        RotatingFile file{folder.path("no/folder/run.log"), 1000, "--log"};
        FAIL("expected an error");
    } catch (const hpo::Error& error) {
        CHECK(error.code() == hpo::Errc::usage);
        CHECK(std::string{error.what()} ==
              "--log: '" + folder.path("no/folder/run.log").string() + "' cannot be opened for writing: No such file or directory");
    }
}
