// SPDX-License-Identifier: MIT
#include "hpo/dataset/label_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/dataset/shown_names.hpp"

namespace hpo::dataset {

LabelTable::LabelTable(std::vector<std::string> names, std::string_view place) : names_{std::move(names)} {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    if (names_.size() < 2) throw bad_value(place, "the one label '" + shown(join_names(names_)) + "'", "two or more different labels");
}

std::optional<std::int64_t> LabelTable::index(std::string_view name) const {
    const auto found = std::lower_bound(names_.begin(), names_.end(), name);
    if (found == names_.end() || *found != name) return std::nullopt;
    return found - names_.begin();
}

std::vector<std::int64_t> LabelTable::encode(const TextTable& table, std::span<const std::int64_t> rows) const {
    std::vector<std::int64_t> class_of_label;
    for (const TextTable::Label& label : table.labels()) class_of_label.push_back(index(label.name).value_or(-1));
    std::vector<std::int64_t> classes;
    classes.reserve(rows.size());
    std::set<std::size_t> unseen;
    for (const std::int64_t row : rows) {
        const std::size_t label = table.label_number(row);
        classes.push_back(class_of_label[label]);
        if (classes.back() < 0) unseen.insert(label);
    }
    if (unseen.empty()) return classes;
    std::vector<std::string> names;
    for (const std::size_t label : unseen) {
        const TextTable::Label& known = table.labels()[label];
        names.push_back("'" + shown(known.name) + "' (line " + std::to_string(known.first_line) + ")");
    }
    throw Error{Errc::unknown_name, table.name() + ": labels that no training text has: " + join_names(first_names(names)) +
                                        "; known: " + join_names(shown_names(names_))};
}

}  // namespace hpo::dataset
