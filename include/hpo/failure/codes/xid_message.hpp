// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/failure/codes/xid_codes.hpp"

namespace hpo {

/// An Xid that the driver reported.
struct XidReport {
    int code = 0;
    std::string device;               ///< place on the PCI bus, "0000:01:00"
    std::optional<std::int64_t> pid;  ///< of the program whose work met it, if the driver says so
    std::string program;              ///< its name; empty: the driver does not say
    friend bool operator==(const XidReport&, const XidReport&) = default;
};

/// Reads the kernel's line "NVRM: Xid (PCI:0000:01:00): 79, pid=712, name=python, ..." in all its forms. Returns nullopt for other lines.
[[nodiscard]] std::optional<XidReport> xid_report_in(std::string_view line);

/// "Xid 79: the device has fallen off the bus (restart the machine)". A number that xid_codes does not have stands alone.
[[nodiscard]] std::string describe_xid(int code);

/// The Xid that a text of ours or a line of the kernel tells and that reports a failure, or null. Of several in a text, one that means a
/// broken device counts, else the first.
[[nodiscard]] const XidCode* failing_xid_in(std::string_view text);

}  // namespace hpo

namespace hpo::detail {

/// The whole number at the beginning of a text, which no letter or digit follows.
template <class Number>
[[nodiscard]] std::optional<Number> number_at(std::string_view text) {
    Number number = 0;
    const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto end = static_cast<std::size_t>(stop - text.data());
    if (status != std::errc{} || number < 0 || (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0))
        return std::nullopt;
    return number;
}

/// The text after `key` up to a comma or the line's end. Empty if the driver does not know it.
[[nodiscard]] inline std::string_view field_after(std::string_view line, std::string_view key) {
    const auto at = line.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view value = line.substr(at + key.size());
    const std::string_view field = value.substr(0, value.find_first_of(",\r\n"));
    return field.find('<') == std::string_view::npos ? field : std::string_view{};  // pid='<unknown>'
}

/// "0000:01:00" has hexadecimal digits, colons and points, and at least one colon.
[[nodiscard]] inline bool is_bus_place(std::string_view text) {
    for (const char c : text) {
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0 && c != ':' && c != '.') return false;
    }
    return text.find(':') != std::string_view::npos;
}

/// The number in our own words, "Xid 79: ", if the text begins with them.
[[nodiscard]] inline std::optional<int> described_xid(std::string_view text) {
    constexpr std::string_view words = "Xid ";
    for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
        const auto code = number_at<int>(text.substr(at + words.size()));
        if (code && text.substr(at).starts_with(describe_xid(*code))) return code;
    }
    return std::nullopt;
}

}  // namespace hpo::detail

namespace hpo {

inline std::optional<XidReport> xid_report_in(std::string_view line) {
    constexpr std::string_view words = "Xid (";
    constexpr std::string_view bus = "PCI:";
    const auto at = line.find(words);
    if (at == std::string_view::npos || (at > 0 && std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0)) return std::nullopt;
    std::string_view rest = line.substr(at + words.size());
    if (rest.starts_with(bus)) rest.remove_prefix(bus.size());  // older drivers leave it out
    const auto close = rest.find("): ");
    if (close == std::string_view::npos || !detail::is_bus_place(rest.substr(0, close))) return std::nullopt;
    const auto code = detail::number_at<int>(rest.substr(close + 3));
    if (!code) return std::nullopt;
    const std::string_view details = rest.substr(close);
    return XidReport{.code = *code,
                     .device = std::string{rest.substr(0, close)},
                     .pid = detail::number_at<std::int64_t>(detail::field_after(details, " pid=")),
                     .program = std::string{detail::field_after(details, " name=")}};
}

inline std::string describe_xid(int code) {
    std::string text = "Xid " + std::to_string(code);
    if (const XidCode* known = xid_code(code)) text += ": " + std::string{known->what} + " (" + std::string{to_text(known->action)} + ")";
    return text;
}

inline const XidCode* failing_xid_in(std::string_view text) {
    const XidCode* first = nullptr;
    for (std::string_view rest = text; rest.find("Xid ") != std::string_view::npos;) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        const auto report = xid_report_in(line);
        const auto code = report ? std::optional{report->code} : detail::described_xid(line);
        const XidCode* known = code ? xid_code(*code) : nullptr;
        if (known && known->action != XidAction::nothing) {
            if (known->meaning.what == ErrorClass::hardware) return known;
            if (!first) first = known;
        }
        if (line.size() == rest.size()) break;
        rest.remove_prefix(line.size() + 1);
    }
    return first;
}

}  // namespace hpo
