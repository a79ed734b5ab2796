// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/utf8.hpp"
#include "hpo/core/value.hpp"

namespace hpo::dataset {

/// Which columns of a file are read.
struct Columns {
    std::string text = "text";
    std::string label = "label";
    /// In CSV and TSV files a field may stand in quotes, and then hold separators and line ends. False: a quote is a character
    /// like any other, as in TSV files whose texts are written as they are.
    bool quotes = true;
};

/// A text of a file, fit for one line of a message: without control characters, at most some 60 bytes.
[[nodiscard]] inline std::string shown(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() && end < 60) end += std::max<std::size_t>(1, utf8_length(text, end));
    const std::string quoted = json_quote(text.substr(0, end));
    return quoted.substr(1, quoted.size() - 2) + (end < text.size() ? "..." : "");
}

/// A list of names as short as a message wants it.
[[nodiscard]] inline std::vector<std::string> first_names(std::vector<std::string> names) {
    constexpr std::size_t most = 20;
    if (names.size() > most) {
        const std::string more = "and " + std::to_string(names.size() - most) + " more";
        names.resize(most);
        names.push_back(more);
    }
    return names;
}

/// Names of columns or labels, fit for a message.
[[nodiscard]] inline std::vector<std::string> shown_names(std::span<const std::string> names) {
    std::vector<std::string> list;
    for (const std::string& name : names) list.push_back(shown(name));
    return first_names(std::move(list));
}

/// Where `name` stands among a file's columns. Throws Error that lists them when it is not there, or is there twice.
[[nodiscard]] inline std::size_t column_index(const std::string& place, std::span<const std::string> names, const std::string& name) {
    std::size_t found = names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] != name) continue;
        if (found != names.size()) throw Error{Errc::bad_value, place + ": column '" + shown(name) + "' is there twice"};
        found = i;
    }
    if (found == names.size()) throw unknown_name(place, "column", shown(name), shown_names(names));
    return found;
}

}  // namespace hpo::dataset
