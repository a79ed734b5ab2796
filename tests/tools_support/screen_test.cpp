// SPDX-License-Identifier: MIT
#include "support/screen.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "small_terminal.hpp"
#include "support/catch.hpp"

using hpo::test::SmallTerminal;
using hpo::tools::Screen;
using Lines = std::vector<std::string>;

namespace {

/// A screen whose own writes go nowhere: its frames are taken by hand.
struct Shown {
    SmallTerminal terminal;
    hpo::tools::TerminalSize size;
    int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    Screen screen{nowhere};

    Shown(std::size_t columns, std::size_t rows) : terminal{columns, rows}, size{.columns = columns, .rows = rows} {}
    ~Shown() { ::close(nowhere); }
    void draw(const Lines& above, const Lines& block) {
        terminal.write(screen.frame(above, block, size));
        CHECK_FALSE(terminal.in_update());
    }
    void resize(std::size_t columns) {
        terminal.resize(columns);
        size.columns = columns;
    }
};

}  // namespace

TEST_CASE("a block is redrawn in place while lines scroll by above it") {
    Shown shown{40, 10};
    shown.draw({"study s: new"}, {"0/2", "trial 0"});
    CHECK(shown.terminal.lines() == Lines{"study s: new", "0/2", "trial 0"});
    shown.draw({}, {"0/2", "trial 0  step 1"});
    shown.draw({"trial 0: complete"}, {"1/2"});
    CHECK(shown.terminal.lines() == Lines{"study s: new", "trial 0: complete", "1/2"});
    shown.draw({}, {});
    CHECK(shown.terminal.lines() == Lines{"study s: new", "trial 0: complete"});
}

TEST_CASE("a block that shrinks leaves no stale line and no stale end of a line") {
    Shown shown{40, 10};
    shown.draw({}, {"0/2 a long first line", "trial 0", "trial 1", "memory"});
    shown.draw({}, {"1/2", "trial 1"});
    CHECK(shown.terminal.lines() == Lines{"1/2", "trial 1"});
}

TEST_CASE("a redrawn block is written over and never blanked: nothing flickers") {
    Shown shown{40, 10};
    shown.draw({}, {"0/2", "trial 0"});
    for (int step = 0; step < 5; ++step) shown.draw({}, {"0/2", "trial 0  step " + std::to_string(step)});
    CHECK(shown.terminal.erased() == 0);
}

TEST_CASE("a line that ends in the last column keeps its last character") {
    Shown shown{10, 10};
    shown.draw({}, {"0/2"});
    shown.draw({"0123456789", "0123456789abc", ""}, {"1/2"});
    CHECK(shown.terminal.lines() == Lines{"0123456789", "0123456789", "abc", "", "1/2"});
}

TEST_CASE("a long line above the block breaks no word") {
    Shown shown{20, 10};
    shown.draw({"trial 12: out of memory at micro-batch 64"}, {"1/2"});
    CHECK(shown.terminal.lines() == Lines{"trial 12: out of", "    memory at", "    micro-batch 64", "1/2"});
    shown.draw({"a_word_that_is_longer_than_the_terminal"}, {"2/2"});
    CHECK(shown.terminal.lines().at(3) == "a_word_that_is_longe");
}

TEST_CASE("a frame is one synchronised update") {
    Shown shown{40, 10};
    const std::string frame = shown.screen.frame({"above"}, {"0/2"}, shown.size);
    CHECK(frame.starts_with("\x1b[?2026h"));
    CHECK(frame.ends_with("\x1b[?2026l"));
}

TEST_CASE("a terminal that becomes narrower or wider keeps no line of an older block") {
    Shown shown{120, 12};
    const std::string wide(100, 'x');
    shown.draw({"event"}, {wide, "trial 0"});
    for (const std::size_t columns : {40, 80, 33, 120, 60}) {
        shown.resize(columns);
        shown.draw({}, {wide, "trial 0"});
        const Lines lines = shown.terminal.lines();
        INFO(columns);
        REQUIRE(lines.size() == 3);
        CHECK(lines[0] == "event");
        CHECK(lines[1].size() < columns);
        CHECK(lines[1].starts_with("xxx"));
        CHECK(lines[2] == "trial 0");
    }
}

TEST_CASE("a terminal that tells its new size late keeps no line of an older block") {
    Shown shown{120, 12};
    const std::string wide(100, 'x');
    shown.draw({"event"}, {wide, "trial 0"});
    shown.terminal.resize(40);
    for (int i = 0; i < 3; ++i) shown.draw({}, {wide, "trial 0"});  // as wide as before
    shown.size.columns = 40;
    shown.draw({}, {wide, "trial 0"});
    const Lines lines = shown.terminal.lines();
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "event");
    CHECK(lines[1].starts_with("xxx"));
    CHECK(lines[2] == "trial 0");
}

TEST_CASE("a block that is higher than the terminal says how many lines it leaves out") {
    Shown shown{40, 4};
    Lines block;
    for (int i = 0; i < 9; ++i) block.push_back("trial " + std::to_string(i));
    shown.draw({"event"}, block);
    for (int i = 0; i < 3; ++i) shown.draw({}, block);
    CHECK(shown.terminal.lines() == Lines{"event", "trial 0", "trial 1", "and 7 more lines"});
}

TEST_CASE("what scripts, trials and stores tell reaches a screen without control characters, a line for a line") {
    Shown shown{80, 10};
    shown.draw({"trial 0: failed, \x1b]0;title\a\x1b[2J\nsecond"}, {"study \x1b[31m\r\x7f\xc2\x9b"
                                                                    "5A\xff"});
    CHECK(shown.terminal.lines() ==
          Lines{R"(trial 0: failed, \u001b]0;title\u0007\u001b[2J\nsecond)", R"(study \u001b[31m\r\u007f\u009b5A\xff)"});
}

TEST_CASE("text of others on standard error stands above the block") {
    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    std::string written;
    {
        Screen screen{ends[1]};
        screen.draw({}, {"0/2", "trial 0"});
        Screen::make_room();
        screen.draw({}, {"0/2", "trial 0"});
    }
    ::close(ends[1]);
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) written.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    CHECK(written ==
          "\x1b[?2026h\x1b[?7l0/2\x1b[K\ntrial 0\x1b[K\n\x1b[?7h\x1b[J\x1b[?2026l"
          "\x1b[?2026h\r\x1b[2A\x1b[K\x1b[B\x1b[K\x1b[B\x1b[2A\x1b[?2026l"
          "\x1b[?2026h\x1b[?7l0/2\x1b[K\ntrial 0\x1b[K\n\x1b[?7h\x1b[J\x1b[?2026l"
          "\x1b[?2026h\r\x1b[2A\x1b[K\x1b[B\x1b[K\x1b[B\x1b[2A\x1b[?2026l");
}
