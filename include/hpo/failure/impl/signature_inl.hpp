// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/signature.hpp"

namespace hpo::detail {

HPO_INLINE bool is_digit(char c) { return c >= '0' && c <= '9'; }
HPO_INLINE bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// The number of characters of a hexadecimal address at the beginning, "0x7f12"; 0: there is none.
HPO_INLINE std::size_t address_length(std::string_view text) {
    if (!text.starts_with("0x")) return 0;
    std::size_t length = 2;
    while (length < text.size() && std::isxdigit(static_cast<unsigned char>(text[length]))) ++length;
    return length > 2 ? length : 0;
}

/// The same of a number: "12", "1.5", "2e-05", "-3".
HPO_INLINE std::size_t number_length(std::string_view text) {
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

/// The same of an absolute path with a folder, or of one that begins with "./" or "../".
HPO_INLINE std::size_t path_length(std::string_view text) {
    if (!text.starts_with('/') && !text.starts_with("./") && !text.starts_with("../")) return 0;
    const std::size_t length = std::min(text.find_first_of(" \t'\"`,;:()[]{}<>|"), text.size());
    const std::string_view path = text.substr(0, length);
    return length > 2 && path.find('/', path.starts_with('/') ? 1 : 0) != std::string_view::npos ? length : 0;
}

/// The same of the unit of a size in memory behind a number: " MiB", "GB", " bytes".
HPO_INLINE std::size_t size_unit_length(std::string_view text) {
    const std::size_t blank = text.starts_with(' ') ? 1 : 0;
    for (const std::string_view unit : {"bytes", "KiB", "MiB", "GiB", "TiB", "KB", "kB", "MB", "GB", "TB"}) {
        if (!text.substr(blank).starts_with(unit)) continue;
        const std::size_t end = blank + unit.size();
        if (end == text.size() || !(is_letter(text[end]) || is_digit(text[end]))) return end;
    }
    return 0;
}

/// Leaves out a sentence that is equal to the one before it.
HPO_INLINE std::string without_repetitions(std::string_view text) {
    std::string result;
    std::string_view last;
    while (!text.empty()) {
        const auto stop = text.find(". ");
        const std::string_view sentence = text.substr(0, stop == std::string_view::npos ? text.size() : stop + 2);
        if (sentence != last) result += sentence;
        last = sentence;
        text.remove_prefix(sentence.size());
    }
    return result;
}

}  // namespace hpo::detail

namespace hpo {

HPO_INLINE std::string without_details(std::string_view line) {
    std::string result;
    for (std::size_t at = 0; at < line.size();) {
        const std::string_view rest = line.substr(at);
        const char before = at == 0 ? ' ' : line[at - 1];
        const bool in_word = detail::is_letter(before) || detail::is_digit(before);
        if (const std::size_t path = in_word || before == '/' || before == '.' ? 0 : detail::path_length(rest)) {
            result += "PATH";
            at += path;
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
    return detail::without_repetitions(result);
}

HPO_INLINE std::string signature(const Failure& failure) {
    const std::string line = failure_line(failure);
    const std::string_view told = std::string_view{line}.substr(0, line.find("; configuration: "));
    std::string text{to_text(failure.kind)};
    for (const std::string& part : {failure.where, failure.type}) text += part.empty() ? "" : ", " + part;
    const std::size_t kept = says_only_its_end(failure) ? std::min(told.find_first_of(":;,"), told.size()) : 0;
    return text + ": " + std::string{told.substr(0, kept)} + without_details(told.substr(kept));
}

}  // namespace hpo
