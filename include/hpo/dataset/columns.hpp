// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "hpo/core/error.hpp"
#include "hpo/core/shown_text.hpp"
#include "hpo/dataset/shown_names.hpp"

namespace hpo::dataset {

/// Which columns of a file are read.
struct Columns {
    std::string text = "text";
    std::string label = "label";
    /// In CSV and TSV files a field may stand in quotes, and then hold separators and line ends. False: a quote is a character
    /// like any other, as in TSV files whose texts are written as they are.
    bool quotes = true;
};

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
