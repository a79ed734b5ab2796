// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/process/temporary_folder.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

namespace fs = std::filesystem;

namespace {

/// While it lives, TMPDIR is this.
class TmpDir {
public:
    explicit TmpDir(const std::string& path) { ::setenv("TMPDIR", path.c_str(), 1); }
    TmpDir(const TmpDir&) = delete;
    TmpDir& operator=(const TmpDir&) = delete;
    ~TmpDir() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }

private:
    std::string before_ = ::getenv("TMPDIR") != nullptr ? ::getenv("TMPDIR") : "";
};

/// A child that has made a folder with a file, and then waits. Returns its process id, and the folder's path.
std::pair<pid_t, fs::path> child_with_folder() {
    std::array<int, 2> told{};
    if (::pipe(told.data()) != 0) throw std::runtime_error{"no pipe"};
    const pid_t child = ::fork();
    if (child == 0) {
        const hpo::TemporaryFolder folder{"hpo-test"};
        fs::create_directory(folder.path() / "inner");
        hpo::test::write_file(folder.path() / "inner" / "file", "text");
        fs::permissions(folder.path() / "inner", fs::perms::none);
        const std::string path = folder.path().string() + "\n";
        if (::write(told[1], path.data(), path.size()) < 0) ::_exit(1);
        for (;;) ::pause();
    }
    ::close(told[1]);
    std::string path;
    for (char c = 0; ::read(told[0], &c, 1) == 1 && c != '\n';) path += c;
    ::close(told[0]);
    return {child, path};
}

}  // namespace

TEST_CASE("a temporary folder is in TMPDIR, is its owner's alone, and is gone with its object") {
    const hpo::tests::TemporaryDirectory home;
    const TmpDir here{home.path().string()};
    fs::path first;
    {
        const hpo::TemporaryFolder folder{"hpo-test"};
        const hpo::TemporaryFolder another{"hpo-test"};
        first = folder.path();
        CHECK(first.parent_path() == home.path());
        CHECK(first.filename().string().starts_with("hpo-test-"));
        CHECK(first != another.path());
        CHECK(fs::status(first).permissions() == fs::perms::owner_all);
        hpo::test::write_file(first / "file", "text");
    }
    CHECK(fs::is_empty(home.path()));
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, not even as a zombie
}

TEST_CASE("a temporary folder is gone after any signal that ends its process") {
    const hpo::tests::TemporaryDirectory home;
    const TmpDir here{home.path().string()};
    const int signal = GENERATE(SIGTERM, SIGINT, SIGKILL);
    const auto [child, folder] = child_with_folder();
    REQUIRE(fs::is_directory(folder));
    ::kill(child, signal);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WTERMSIG(status) == signal);
    CHECK(hpo::test::eventually([&] { return !fs::exists(folder); }));
}

TEST_CASE("where no temporary folder can be made, the error names TMPDIR") {
    const hpo::tests::TemporaryDirectory home;
    const TmpDir here{home.file("absent")};
    CHECK_THROWS_WITH(hpo::TemporaryFolder{"hpo-test"}, Catch::Contains("TMPDIR: ") && Catch::Contains("absent: No such file or directory; "
                                                                                                       "expected a folder"));
}
