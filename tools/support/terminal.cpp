// SPDX-License-Identifier: MIT
#include "support/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <streambuf>

#include "hpo/base/utf8.hpp"
#include "support/screen.hpp"

namespace hpo::tools {

namespace {

enum class LineEnds { kept, written };

/// The code point of the well-formed character that begins at `at`.
std::uint32_t code_point(std::string_view text, std::size_t at, std::size_t length) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
    if (length == 1) return byte(0);
    std::uint32_t code = byte(0) & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) code = (code << 6U) | (byte(i) & 0x3FU);
    return code;
}

struct Range {
    std::uint32_t first, last;
};

/// What turns the direction of a line or ends it: U+061C, U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069 (Unicode Standard Annex 9).
constexpr std::array turning{Range{0x061C, 0x061C}, Range{0x200E, 0x200F}, Range{0x2028, 0x202E}, Range{0x2066, 0x2069}};

/// Appends what begins at `at`; returns its length in the text.
std::size_t append_visible(std::string& shown, std::string_view text, std::size_t at, LineEnds line_ends) {
    static constexpr std::string_view hex = "0123456789abcdef";
    const std::size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) {
        (shown += "\\x") += {hex[byte >> 4U], hex[byte & 15U]};
        return 1;
    }
    const std::uint32_t code = code_point(text, at, length);
    const bool turns = std::ranges::any_of(turning, [code](Range range) { return code >= range.first && code <= range.last; });
    const bool controls = code < 0x20 || (code >= 0x7F && code < 0xA0) || turns;
    const bool kept = line_ends == LineEnds::kept && (code == '\n' || code == '\t');
    if (kept || !controls) shown += text.substr(at, length);
    else if (code == '\n') shown += "\\n";
    else if (code == '\r') shown += "\\r";
    else if (code == '\t') shown += "\\t";
    else (shown += "\\u") += {hex[code >> 12U], hex[code >> 8U & 15U], hex[code >> 4U & 15U], hex[code & 15U]};
    return length;
}

std::string all_visible(std::string_view text, LineEnds line_ends) {
    std::string shown;
    shown.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) at += append_visible(shown, text, at, line_ends);
    return shown;
}

/// East Asian Width W and F, in blocks, and pictures (Unicode Standard Annex 11).
constexpr std::array wide{Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},
                          Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},
                          Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
                          Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
/// Combining marks and what joins or selects.
constexpr std::array joined{Range{0x0300, 0x036F}, Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200F},
                            Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};

std::size_t width_of(std::uint32_t code) {
    const auto holds = [code](Range range) { return code >= range.first && code <= range.last; };
    if (code < 0x300) return 1;
    if (std::ranges::any_of(joined, holds)) return 0;
    return std::ranges::any_of(wide, holds) ? 2 : 1;
}

/// Calls `visit(begin, length, width)` for each character until it returns false. A byte that is no UTF-8 counts as one.
template <class Visit>
void each_character(std::string_view text, Visit visit) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (!visit(at, std::max<std::size_t>(length, 1), length == 0 ? 1 : width_of(code_point(text, at, length)))) return;
        at += std::max<std::size_t>(length, 1);
    }
}

}  // namespace

std::string visible(std::string_view text) { return all_visible(text, LineEnds::kept); }
std::string on_one_line(std::string_view text) { return all_visible(text, LineEnds::written); }

std::size_t columns(std::string_view text) {
    std::size_t sum = 0;
    each_character(text, [&](std::size_t, std::size_t, std::size_t width) {
        sum += width;
        return true;
    });
    return sum;
}

std::string clipped(std::string_view text, std::size_t most) {
    if (columns(text) <= most) return std::string{text};
    if (most == 0) return {};
    std::size_t end = 0;
    std::size_t used = 0;
    each_character(text, [&](std::size_t at, std::size_t length, std::size_t width) {
        if (used + width > most - 1) return false;
        used += width;
        end = at + length;
        return true;
    });
    return std::string{text.substr(0, end)} + "…";
}

bool takes_escapes(int descriptor) {
    const char* const kind = std::getenv("TERM");
    return kind && *kind != '\0' && std::string_view{kind} != "dumb" && ::isatty(descriptor) != 0;
}

TerminalSize terminal_size(int descriptor) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
    return {.columns = size.ws_col, .rows = size.ws_row};
}

/// Passes text on to another buffer; a character that is not there in full waits for its other bytes.
class VisibleStreams::Buffer final : public std::streambuf {
public:
    explicit Buffer(std::ostream& stream) : stream_{stream}, below_{stream.rdbuf(this)} {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() override {
        std::string rest;
        for (std::size_t at = 0; at < begun_.size();) at += append_visible(rest, begun_, at, LineEnds::kept);
        put(rest);
        stream_.rdbuf(below_);
    }
    void escape(std::string_view sequence) { put(sequence); }

protected:
    std::streamsize xsputn(const char* text, std::streamsize size) override {
        begun_.append(text, static_cast<std::size_t>(size));
        std::string shown;
        std::size_t at = 0;
        while (at < begun_.size() && !is_cut_off(at)) at += append_visible(shown, begun_, at, LineEnds::kept);
        begun_.erase(0, at);
        return put(shown) ? size : 0;
    }
    int_type overflow(int_type character) override {
        if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
        const char one = traits_type::to_char_type(character);
        return xsputn(&one, 1) == 1 ? character : traits_type::eof();
    }
    int sync() override { return below_->pubsync(); }

private:
    /// True for the first bytes of a character that may still be completed.
    [[nodiscard]] bool is_cut_off(std::size_t at) const {
        const std::string_view rest = std::string_view{begun_}.substr(at);
        if (rest.size() >= 4 || utf8_length(rest, 0) > 0) return false;
        for (const std::string_view end : {"\x80", "\x80\x80", "\xA0\x80", "\x90\x80\x80", "\x80\x80\x80"}) {
            const std::string whole = std::string{rest} + std::string{end};
            if (utf8_length(whole, 0) == whole.size()) return true;
        }
        return false;
    }
    bool put(std::string_view text) {
        if (text.empty()) return true;
        Screen::make_room();
        return below_->sputn(text.data(), static_cast<std::streamsize>(text.size())) == static_cast<std::streamsize>(text.size());
    }

    std::ostream& stream_;
    std::streambuf* below_;
    std::string begun_;  ///< the first bytes of a character
};

VisibleStreams::VisibleStreams() : out_{std::make_unique<Buffer>(std::cout)}, error_{std::make_unique<Buffer>(std::cerr)} {}
VisibleStreams::~VisibleStreams() {
    std::cout.flush();
    std::cerr.flush();
}

void write_escape(std::ostream& out, std::string_view sequence) {
    if (auto* const buffer = dynamic_cast<VisibleStreams::Buffer*>(out.rdbuf())) buffer->escape(sequence);
    else out << sequence;
}

}  // namespace hpo::tools
