// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/dataset/columns.hpp"
#include "hpo/dataset/label_table.hpp"
#include "hpo/dataset/sha256.hpp"
#include "hpo/dataset/split.hpp"
#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// Some rows of a table as examples for a model: texts and class numbers, counted from 0.
class Examples {
public:
    Examples() = default;
    /// Texts that nothing is trained on or measured with: they have no class numbers, and their labels may be any.
    Examples(std::shared_ptr<const TextTable> table, std::vector<std::int64_t> rows) : table_{std::move(table)}, rows_{std::move(rows)} {}
    Examples(std::shared_ptr<const TextTable> table, std::vector<std::int64_t> rows, const LabelTable& labels)
        : table_{std::move(table)}, rows_{std::move(rows)}, classes_{labels.encode(*table_, rows_)} {}

    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(rows_.size()); }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    [[nodiscard]] std::string_view text(std::int64_t example) const { return table_->text(row(example)); }
    [[nodiscard]] std::int64_t label(std::int64_t example) const { return classes_[static_cast<std::size_t>(example)]; }
    /// Empty where there are no class numbers.
    [[nodiscard]] std::span<const std::int64_t> labels() const noexcept { return classes_; }
    [[nodiscard]] const std::string& label_name(std::int64_t example) const { return table_->label(row(example)); }
    /// SHA-256 of an example's text.
    [[nodiscard]] const Digest& digest(std::int64_t example) const { return table_->digest(row(example)); }

    /// As `subset` chooses them.
    [[nodiscard]] Examples chosen(const SubsetRule& rule, const LabelTable& labels) const {
        if (empty() && rule.examples == 0) return {};
        return {table_, subset(*table_, rows_, rule), labels};
    }
    /// The same without class numbers.
    [[nodiscard]] Examples chosen(const SubsetRule& rule) const {
        if (empty() && rule.examples == 0) return {};
        return {table_, subset(*table_, rows_, rule)};
    }

private:
    [[nodiscard]] std::int64_t row(std::int64_t example) const { return rows_[static_cast<std::size_t>(example)]; }

    std::shared_ptr<const TextTable> table_;
    std::vector<std::int64_t> rows_;
    std::vector<std::int64_t> classes_;
};

/// Where labelled texts lie, and by which rule they are divided where files do not divide them.
struct TextSource {
    std::filesystem::path data;        ///< a file; or a folder with train.*, and possibly validation.* (valid.*, val.*, dev.*) and test.*
    std::filesystem::path validation;  ///< a file; empty: the folder's, else taken from `data` by the rule
    std::filesystem::path test;        ///< likewise
    Columns columns;
    SplitRule split;
    /// The classes of a trained model: the texts only measure it. Validation texts then have its classes; training and test texts have
    /// none, and may be missing; and a validation share of 1 holds out everything.
    std::optional<LabelTable> model_labels;
    /// Set by resolve_files: tables of the folder that belong to no part, by their names.
    std::vector<std::string> passed_over{};
};

/// Labelled texts to train on, to choose by, and to measure with at the end.
struct TextDataset {
    LabelTable labels;  ///< of the training texts, or of the model that is measured
    Examples train;
    Examples validation;
    Examples test;                           ///< may be empty: a folder with a validation file and no test file
    std::vector<std::string> passed_over{};  ///< names of the folder's tables that belong to no part
};

/// What the files of a folder are called before their ending; data sets write the second part in several ways.
inline constexpr std::array<std::string_view, 1> train_names{"train"};
inline constexpr std::array<std::string_view, 4> validation_names{"validation", "valid", "val", "dev"};
inline constexpr std::array<std::string_view, 1> test_names{"test"};

/// The files of a source: `data` is then a file, or empty where a model is measured and a folder has no training texts; the others are
/// empty where the rule holds. Throws Error.
[[nodiscard]] TextSource resolve_files(TextSource source);

namespace detail {

/// The rows of a table.
[[nodiscard]] std::vector<std::int64_t> all_rows(const TextTable& table);

/// The parts of `data` by the source's rule, but for those that have a file.
[[nodiscard]] Split divided(const TextTable& table, const TextSource& source);

}  // namespace detail

/// Reads labelled texts, divided by files or else by split_by_text: from `data` alone both held-out parts are taken; beside a test file
/// the validation texts; beside a validation file nothing. Throws Error as read_table does, for labels that no training text has, and
/// for a part without texts.
[[nodiscard]] TextDataset read_dataset(const TextSource& described);

/// How many of `held_out` have a text that is trained on, too: what their score knows beforehand.
[[nodiscard]] std::int64_t texts_in_common(const Examples& train, const Examples& held_out);

/// One hash of what the examples say: their texts and labels, whatever their order and the format of their file.
/// SHA-256 of the sorted SHA-256(LABEL + "\n" + SHA-256(text)).
[[nodiscard]] Digest content_hash(const Examples& examples);

/// The hash of a data set, or of what is used of it, for the manifest of a model: 64 characters. The same texts divided in another way
/// have another.
[[nodiscard]] std::string content_hash(const TextDataset& dataset);

}  // namespace hpo::dataset

#ifndef HPO_COMPILED
#include "hpo/dataset/impl/text_dataset_inl.hpp"
#endif
