// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/dataset/shown_names.hpp"

namespace hpo::dataset {

/// Which columns of a file are read.
struct Columns {
    std::string text = "text";
    std::string label = "label";
    /// If true, a field of a CSV or TSV file may be in quotes, and then contain separators and line ends. If false, a quote is an ordinary
    /// character, as in TSV files that write their texts without quoting.
    bool quotes = true;
};

/// The index of the column `name` in a file. Throws Error that lists the columns if it is missing, or if it is there twice.
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
