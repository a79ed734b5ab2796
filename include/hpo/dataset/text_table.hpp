// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hpo/dataset/sha256.hpp"

namespace hpo::dataset {

/// The texts of a file with their labels. A row takes 48 bytes besides its text.
class TextTable {
public:
    /// `name` is the file of the table, for errors.
    explicit TextTable(std::string name) : name_{std::move(name)} {}

    struct Row {
        std::string_view text;
        std::string_view label;
        std::int64_t line = 0;  ///< the line of the file where it begins
    };
    void append(const Row& row) {
        texts_ += row.text;
        ends_.push_back(texts_.size());
        digests_.push_back(sha256(row.text));
        const auto [known, added] = label_index_.try_emplace(std::string{row.label}, static_cast<std::uint32_t>(labels_.size()));
        if (added) labels_.push_back({std::string{row.label}, row.line});
        label_of_row_.push_back(known->second);
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::int64_t rows() const noexcept { return static_cast<std::int64_t>(ends_.size()); }
    [[nodiscard]] std::string_view text(std::int64_t row) const {
        const auto at = static_cast<std::size_t>(row);
        const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
        return std::string_view{texts_}.substr(begin, ends_[at] - begin);
    }
    [[nodiscard]] const std::string& label(std::int64_t row) const { return labels_[label_number(row)].name; }
    /// SHA-256 of the row's text.
    [[nodiscard]] const Digest& digest(std::int64_t row) const { return digests_[static_cast<std::size_t>(row)]; }

    /// A label of the table, and the first line of the file that has it.
    struct Label {
        std::string name;
        std::int64_t first_line = 0;
    };
    /// The labels, in the order of their first lines.
    [[nodiscard]] const std::vector<Label>& labels() const noexcept { return labels_; }
    /// The index in `labels()` of a row's label.
    [[nodiscard]] std::size_t label_number(std::int64_t row) const { return label_of_row_[static_cast<std::size_t>(row)]; }

private:
    std::string name_;
    std::string texts_;  ///< all texts, one after the other
    std::vector<std::size_t> ends_;
    std::vector<Digest> digests_;
    std::vector<std::uint32_t> label_of_row_;
    std::vector<Label> labels_;
    std::unordered_map<std::string, std::uint32_t> label_index_;
};

}  // namespace hpo::dataset
