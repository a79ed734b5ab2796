// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// The classes of a model: the labels of its training data, sorted by their bytes.
class LabelTable {
public:
    LabelTable() = default;

    /// `names` are those of the training data, or of the manifest of a trained model. Throws Error if there are fewer than two classes.
    LabelTable(std::vector<std::string> names, std::string_view place);

    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(names_.size()); }
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

    [[nodiscard]] std::optional<std::int64_t> index(std::string_view name) const;

    /// The classes of some rows of a table. Throws Error that names each label without a class, and the first line that has it.
    [[nodiscard]] std::vector<std::int64_t> encode(const TextTable& table, std::span<const std::int64_t> rows) const;

private:
    std::vector<std::string> names_;
};

}  // namespace hpo::dataset
