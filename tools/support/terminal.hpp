// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace hpo::tools {

/// The text as a terminal may get it, whoever wrote it. Control characters other than tabs and line ends are written as in JSON (`\u001b`).
/// Bytes that are no UTF-8 become a backslash, x and two hexadecimal digits.
[[nodiscard]] std::string visible(std::string_view text);
/// The same on one line: tabs and line ends as `\t`, `\n`, `\r`, too.
[[nodiscard]] std::string on_one_line(std::string_view text);

/// Columns that the text takes on a terminal: two for a wide character such as 漢, none for a combining mark.
[[nodiscard]] std::size_t columns(std::string_view text);
/// At most `most` columns of the text, the last one "…" when something was lost.
[[nodiscard]] std::string clipped(std::string_view text, std::size_t most);

/// True for a terminal that understands escape sequences; not where TERM is unset, empty or "dumb".
[[nodiscard]] bool takes_escapes(int descriptor);

struct TerminalSize {
    std::size_t columns = 80;
    std::size_t rows = 0;  ///< 0: not known
};
/// The size now; 80 columns where `descriptor` is no terminal.
[[nodiscard]] TerminalSize terminal_size(int descriptor);

/// While this lives, whatever is written to std::cout and std::cerr arrives as `visible` text, and a `Screen`'s block makes room for it.
/// Each tool's main has one. Only `write_escape` gets by.
class VisibleStreams {
public:
    VisibleStreams();
    VisibleStreams(const VisibleStreams&) = delete;
    VisibleStreams& operator=(const VisibleStreams&) = delete;
    ~VisibleStreams();

private:
    class Buffer;
    friend void write_escape(std::ostream& out, std::string_view sequence);
    std::unique_ptr<Buffer> out_, error_;
};

/// Writes an escape sequence of our own, which `VisibleStreams` lets pass.
void write_escape(std::ostream& out, std::string_view sequence);

}  // namespace hpo::tools
