// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/failure.hpp"
#include "hpo/failure/failure_line.hpp"

namespace hpo {

/// A line without what differs between equal failures: numbers become `N`, sizes in memory `N bytes`, addresses `0xN`, identifiers of
/// 32 hexadecimal digits or more `ID`, paths of files `PATH`. A sentence that comes again is told once: PyTorch names each process that
/// holds memory.
[[nodiscard]] std::string without_details(std::string_view line);

/// The same text for failures that are the same: the kind, the phase, the exception's type, and failure_line without its details. The exit
/// status or the signal of a process that told nothing else is kept. The trial's configuration, which some messages end with, is left out.
[[nodiscard]] std::string signature(const Failure& failure);

}  // namespace hpo

namespace hpo::detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// The number of characters of a hexadecimal address at the beginning, "0x7f12"; 0: there is none.
inline std::size_t address_length(std::string_view text) {
    if (!text.starts_with("0x")) return 0;
    std::size_t length = 2;
    while (length < text.size() && std::isxdigit(static_cast<unsigned char>(text[length]))) ++length;
    return length > 2 ? length : 0;
}

/// The same of a number: "12", "1.5", "2e-05", "-3".
inline std::size_t number_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    if (length == 0) return 0;
    const auto digits_follow = [&](std::size_t at) { return at < text.size() && is_digit(text[at]); };
    if (length < text.size() && text[length] == '.' && digits_follow(length + 1)) {
        ++length;
        while (digits_follow(length)) ++length;
    }
    if (length < text.size() && (text[length] == 'e' || text[length] == 'E')) {
        const bool has_sign = length + 1 < text.size() && (text[length + 1] == '-' || text[length + 1] == '+');
        if (const std::size_t at = length + (has_sign ? 2 : 1); digits_follow(at)) {
            length = at;
            while (digits_follow(length)) ++length;
        }
    }
    return length;
}

/// The same of a path with a folder. One that is not absolute begins with "./" or "../", or ends with a file's extension: "and/or" is none.
inline std::size_t path_length(std::string_view text) {
    const std::size_t length = std::min(text.find_first_of(" \t'\"`,;:()[]{}<>|=*"), text.size());
    std::string_view path = text.substr(0, length);
    while (path.ends_with('.')) path.remove_suffix(1);  // of the sentence
    const std::size_t slash = path.find('/', path.starts_with('/') ? 1 : 0);
    if (path.size() <= 2 || slash == std::string_view::npos) return 0;
    if (path.starts_with('/') || path.starts_with("./") || path.starts_with("../")) return path.size();
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const std::size_t dot = file.rfind('.');
    const bool is_file =
        dot != std::string_view::npos && dot > 0 && dot + 1 < file.size() && file.size() - dot <= 8 && is_letter(file[dot + 1]);
    return is_file && (is_letter(path[0]) || is_digit(path[0])) ? path.size() : 0;
}

/// The same of an identifier of 32 hexadecimal digits or more, with hyphens (RFC 4122) or without.
inline std::size_t identifier_length(std::string_view text) {
    std::size_t length = 0, digits = 0, decimal = 0;
    for (; length < text.size(); ++length) {
        const char c = text[length];
        if (c == '-' && length > 0 && text[length - 1] != '-') continue;
        if (!std::isxdigit(static_cast<unsigned char>(c))) break;
        ++digits;
        decimal += is_digit(c) ? 1 : 0;
    }
    while (length > 0 && text[length - 1] == '-') --length;
    const bool goes_on = length < text.size() && (is_letter(text[length]) || is_digit(text[length]));
    return digits >= 32 && decimal < digits && !goes_on ? length : 0;
}

/// The same of the unit of a size in memory behind a number: " MiB", "GB", " bytes".
inline std::size_t size_unit_length(std::string_view text) {
    const std::size_t blank = text.starts_with(' ') ? 1 : 0;
    for (const std::string_view unit : {"bytes", "byte", "B", "KiB", "MiB", "GiB", "TiB", "KB", "kB", "MB", "GB", "TB"}) {
        if (!text.substr(blank).starts_with(unit)) continue;
        const std::size_t end = blank + unit.size();
        if (end == text.size() || !(is_letter(text[end]) || is_digit(text[end]))) return end;
    }
    return 0;
}

/// Leaves out sentences that came before, and makes "N, N, N" one `N`.
inline std::string without_repetitions(std::string text) {
    constexpr std::string_view another = "N, N";
    for (auto at = text.find(another); at != std::string::npos; at = text.find(another, at)) {
        const std::size_t end = at + another.size();
        const bool is_item = (at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]));
        if (is_item) text.erase(at, another.size() - 1);
        else ++at;
    }
    std::string result;
    std::vector<std::string_view> seen;
    for (std::string_view rest = text; !rest.empty();) {
        const auto stop = rest.find(". ");
        const std::string_view sentence = rest.substr(0, stop == std::string_view::npos ? rest.size() : stop + 1);
        if (std::ranges::find(seen, sentence) == seen.end()) result += (result.empty() ? "" : " ") + std::string{sentence};
        seen.push_back(sentence);
        rest.remove_prefix(std::min(rest.size(), sentence.size() + 1));
    }
    return result;
}

}  // namespace hpo::detail

namespace hpo {

inline std::string without_details(std::string_view line) {
    std::string result;
    for (std::size_t at = 0; at < line.size();) {
        const std::string_view rest = line.substr(at);
        const char before = at == 0 ? ' ' : line[at - 1];
        const bool in_word = detail::is_letter(before) || detail::is_digit(before);
        if (const std::size_t path = in_word || before == '/' || before == '.' ? 0 : detail::path_length(rest)) {
            result += "PATH";
            at += path;
        } else if (const std::size_t identifier = in_word ? 0 : detail::identifier_length(rest)) {
            result += "ID";
            at += identifier;
        } else if (const std::size_t address = in_word ? 0 : detail::address_length(rest)) {
            result += "0xN";
            at += address;
        } else if (const std::size_t number = detail::number_length(rest)) {
            const bool is_negative = result.ends_with('-') && (result.size() == 1 || result[result.size() - 2] == ' ');
            if (is_negative) result.pop_back();
            const std::size_t unit = detail::size_unit_length(rest.substr(number));
            result += unit > 0 ? "N bytes" : "N";
            at += number + unit;
        } else {
            result += line[at++];
        }
    }
    return detail::without_repetitions(std::move(result));
}

inline std::string signature(const Failure& failure) {
    const std::string line = failure_line(failure);
    const std::string_view told = std::string_view{line}.substr(0, line.find("; configuration: "));
    std::string text{to_text(failure.kind)};
    for (const std::string& part : {failure.where, failure.type}) text += part.empty() ? "" : ", " + part;
    const std::size_t kept = says_only_its_end(failure) ? std::min(told.find_first_of(":;,"), told.size()) : 0;
    return text + ": " + std::string{told.substr(0, kept)} + without_details(told.substr(kept));
}

}  // namespace hpo
