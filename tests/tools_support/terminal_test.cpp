// SPDX-License-Identifier: MIT
#include "support/terminal.hpp"

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "support/catch.hpp"
#include "support/text.hpp"

using namespace hpo::tools;

namespace {

/// Takes what would go to a standard stream.
class Captured {
public:
    explicit Captured(std::ostream& stream) : stream_{stream}, before_{stream.rdbuf(text_.rdbuf())} {}
    Captured(const Captured&) = delete;
    Captured& operator=(const Captured&) = delete;
    ~Captured() { stream_.rdbuf(before_); }
    [[nodiscard]] std::string text() const { return text_.str(); }

private:
    std::ostringstream text_;
    std::ostream& stream_;
    std::streambuf* before_;
};

}  // namespace

TEST_CASE("visible text keeps tabs, line ends and every printable character") {
    CHECK(visible("a\tb\n\"q\" \\ née 漢字 🙂") == "a\tb\n\"q\" \\ née 漢字 🙂");
    CHECK(visible("a\xe2\x80\xae"
                  "b\xe2\x80\xa8 \xe2\x81\xa6\xd8\x9c") == R"(a\u202eb\u2028 \u2066\u061c)");      // turn or end the line
    CHECK(visible("\xe2\x80\x8d \xe2\x80\xa6 \xd7\x90") == "\xe2\x80\x8d \xe2\x80\xa6 \xd7\x90");  // a joiner, an ellipsis, a letter
    CHECK(visible("\x1b[31m\r\b\a\x7f") == R"(\u001b[31m\r\u0008\u0007\u007f)");
    CHECK(visible("\xc2\x9b"
                  "2J \xc2\x85") == R"(\u009b2J \u0085)");  // as C1 codes a terminal obeys them
    CHECK(visible("\x9b"
                  "2J \xe6\xbc") == R"(\x9b2J \xe6\xbc)");
    CHECK(visible({"\0", 1}) == R"(\u0000)");
}

TEST_CASE("a text on one line has no line ends") { CHECK(on_one_line("a\tb\r\nc") == R"(a\tb\r\nc)"); }

TEST_CASE("a wide character counts as two columns, a combining mark as none") {
    CHECK(columns("née") == 3);
    CHECK(columns("漢字") == 4);
    CHECK(columns("ハイパー") == 8);
    CHECK(columns("e\xcc\x81") == 1);
    CHECK(columns("🙂") == 2);
    CHECK(clipped("漢字漢字", 8) == "漢字漢字");
    CHECK(clipped("漢字漢字", 7) == "漢字漢…");
    CHECK(clipped("漢字漢字", 6) == "漢字…");
    CHECK(clipped("abc", 2) == "a…");
    CHECK(clipped("abc", 0).empty());
}

TEST_CASE("what is written to the standard streams arrives visible, however it is cut") {
    Captured out{std::cout};
    Captured error{std::cerr};
    {
        const VisibleStreams streams;
        std::cout << "a\x1b[2Jb" << 12 << '\n';
        for (const char c : std::string{"漢\xc2\x9b"
                                        "é\x1b🙂"})
            std::cout << c;       // a byte at a time
        std::cout << "\xe6\xbc";  // never completed
        std::cerr << "e\x1b\n";
        write_escape(std::cerr, "\r\x1b[K");
    }
    CHECK(out.text() == "a\\u001b[2Jb12\n漢\\u009bé\\u001b🙂\\xe6\\xbc");
    CHECK(error.text() == "e\\u001b\n\r\x1b[K");
    std::cout << "\x1b";  // and as before afterwards
    CHECK(out.text().ends_with("\x1b"));
}

TEST_CASE("a standard stream that cannot be written says so") {
    struct Full final : std::streambuf {
        std::streamsize xsputn(const char*, std::streamsize) override { return 0; }
    } full;
    std::streambuf* const before = std::cout.rdbuf(&full);
    {
        const VisibleStreams streams;
        std::cout << "lost";
        CHECK(std::cout.fail());
    }
    std::cout.rdbuf(before);
}

TEST_CASE("a stream that nobody watches takes escapes as they are") {
    std::ostringstream out;
    write_escape(out, "\x1b[1m");
    CHECK(out.str() == "\x1b[1m");
}

TEST_CASE("tables, headings and paragraphs show control characters and stay in their rows") {
    std::ostringstream out;
    const Page page{out, 80, false};
    page.heading("Study a\x1b[31m\nb");
    page.paragraph("one\ntwo");
    Table table{{{"name"}, {"value"}}};
    table.row({"x\x1b[5A", "1"});
    table.row({"漢字", "2"});
    table.row({"ab", "3\n4"});
    table.print(page);
    CHECK(out.str() ==
          "Study a\\u001b[31m\\nb\n"
          "one\\ntwo\n"
          "name        value\n"
          "x\\u001b[5A  1\n"
          "漢字        2\n"
          "ab          3\\n4\n");
}

TEST_CASE("a command to copy holds no control character") {
    CHECK(shell_quoted("plain-name") == "plain-name");
    CHECK(shell_quoted("it's") == R"('it'\''s')");
    CHECK(shell_quoted("a\x1b[2J'\\\xff") == R"($'a\x1b[2J\'\\\xff')");
}

TEST_CASE("a pipe and a dumb terminal get no escapes") {
    CHECK_FALSE(takes_escapes(-1));
    CHECK(terminal_size(-1).columns == 80);
}
