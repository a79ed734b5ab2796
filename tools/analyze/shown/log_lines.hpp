// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::analyze {

/// The lines of a text file in UTF-8, or in UTF-16, as PowerShell writes what it redirects. Without a byte order mark it is UTF-16 if every
/// second of its first bytes is 0.
class LogLines {
public:
    explicit LogLines(std::istream& file) : file_{file} {
        char mark[2] = {};
        file_.read(mark, 2);
        const std::string_view found{mark, static_cast<std::size_t>(file_.gcount())};
        if (found == "\xff\xfe") wide_ = Wide::little;
        else if (found == "\xfe\xff") wide_ = Wide::big;
        file_.clear();
        if (wide_ != Wide::none) return;
        file_.seekg(0);
        char bytes[128] = {};
        file_.read(bytes, sizeof bytes);
        wide_ = without_mark({bytes, static_cast<std::size_t>(file_.gcount())});
        file_.clear();
        file_.seekg(0);
    }

    bool next(std::string& line) {
        if (wide_ == Wide::none) return static_cast<bool>(std::getline(file_, line));
        line.clear();
        bool any = false;
        for (auto unit = read_unit(); unit; unit = read_unit()) {
            any = true;
            if (*unit == U'\n') return true;
            constexpr char32_t high = 0xd800, low = 0xdc00, end = 0xe000, replacement = 0xfffd;
            if (*unit >= high && *unit < low) {
                before_ = *unit;
                continue;
            }
            const bool second = *unit >= low && *unit < end;
            if (!second) append(*unit, line);
            else append(before_ != 0 ? 0x10000 + ((before_ - high) << 10U) + (*unit - low) : replacement, line);
            before_ = 0;
        }
        return any;
    }

private:
    enum class Wide { none, little, big };

    static Wide without_mark(std::string_view begin) {
        std::size_t zeros[2] = {};
        for (std::size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0' ? 1 : 0;
        const std::size_t half = begin.size() / 2;
        constexpr std::size_t fewest = 4;
        if (half < fewest) return Wide::none;
        // A letter of another script has no 0, and no letter is 0 alone.
        if (zeros[0] == 0 && 10 * zeros[1] >= 9 * half) return Wide::little;
        return zeros[1] == 0 && 10 * zeros[0] >= 9 * half ? Wide::big : Wide::none;
    }

    std::optional<char32_t> read_unit() {
        unsigned char bytes[2] = {};
        if (!file_.read(reinterpret_cast<char*>(bytes), 2)) return std::nullopt;
        const bool big = wide_ == Wide::big;
        return static_cast<char32_t>(bytes[big ? 0 : 1] << 8U | bytes[big ? 1 : 0]);
    }
    static void append(char32_t point, std::string& text) {
        const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80U | (point >> shift & 0x3fU)); };
        if (point < 0x80) {
            text += static_cast<char>(point);
        } else if (point < 0x800) {
            text += static_cast<char>(0xc0U | point >> 6U);
            tail(0);
        } else if (point < 0x10000) {
            text += static_cast<char>(0xe0U | point >> 12U);
            tail(6);
            tail(0);
        } else {
            text += static_cast<char>(0xf0U | point >> 18U);
            tail(12);
            tail(6);
            tail(0);
        }
    }

    std::istream& file_;
    Wide wide_ = Wide::none;
    char32_t before_ = 0;  ///< the first half of a pair; 0: none
};

}  // namespace hpo::analyze
