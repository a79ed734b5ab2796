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

/// Some rows of a table as examples for a model, with texts and class numbers. Examples are counted from 0.
class Examples {
public:
    Examples() = default;
    /// Texts without class numbers, which are neither for training nor for measuring. They may have any labels.
    Examples(std::shared_ptr<const TextTable> table, std::vector<std::int64_t> rows) : table_{std::move(table)}, rows_{std::move(rows)} {}
    Examples(std::shared_ptr<const TextTable> table, std::vector<std::int64_t> rows, const LabelTable& labels)
        : table_{std::move(table)}, rows_{std::move(rows)}, classes_{labels.encode(*table_, rows_)} {}

    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(rows_.size()); }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    [[nodiscard]] std::string_view text(std::int64_t example) const { return table_->text(row(example)); }
    [[nodiscard]] std::int64_t label(std::int64_t example) const { return classes_[static_cast<std::size_t>(example)]; }
    /// The class numbers. Empty if there are none.
    [[nodiscard]] std::span<const std::int64_t> labels() const noexcept { return classes_; }
    [[nodiscard]] const std::string& label_name(std::int64_t example) const { return table_->label(row(example)); }
    /// SHA-256 of an example's text.
    [[nodiscard]] const Digest& digest(std::int64_t example) const { return table_->digest(row(example)); }

    /// The examples that `subset` chooses.
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

/// Where labelled texts are, and the rule that divides them if they are not divided into files.
struct TextSource {
    std::filesystem::path data;        ///< a file; or a folder with train.*, and possibly validation.* (valid.*, val.*, dev.*) and test.*
    std::filesystem::path validation;  ///< a file; empty: the folder's file, or else a part of `data` by the rule
    std::filesystem::path test;        ///< in the same way
    Columns columns;
    SplitRule split;
    /// The classes of a trained model, if the texts only measure it. Validation texts then have its classes. Training and test texts have
    /// no classes and may be missing. A validation share of 1 holds out all texts.
    std::optional<LabelTable> model_labels;
    /// Set by resolve_files: tables of the folder that belong to no part, by their names.
    std::vector<std::string> passed_over{};
};

/// Labelled texts for training, for choosing between trials, and for measuring at the end.
struct TextDataset {
    LabelTable labels;  ///< of the training texts, or of the model that is measured
    Examples train;
    Examples validation;
    Examples test;                           ///< empty for a folder with a validation file and no test file
    std::vector<std::string> passed_over{};  ///< names of the folder's tables that belong to no part
};

/// The names of a folder's files without their endings. The validation file has several usual names.
inline constexpr std::array<std::string_view, 1> train_names{"train"};
inline constexpr std::array<std::string_view, 4> validation_names{"validation", "valid", "val", "dev"};
inline constexpr std::array<std::string_view, 1> test_names{"test"};

/// Finds the files of a source. Afterwards `data` is a file, or empty if a model is measured and the folder has no training texts.
/// `validation` and `test` are empty if the rule makes these parts. Throws Error.
[[nodiscard]] TextSource resolve_files(TextSource source);

namespace detail {

/// The rows of a table.
[[nodiscard]] std::vector<std::int64_t> all_rows(const TextTable& table);

/// The parts of `data` by the source's rule, without the parts that have a file.
[[nodiscard]] Split divided(const TextTable& table, const TextSource& source);

}  // namespace detail

/// Reads labelled texts, divided by files or else by split_by_text. If there is only `data`, both held-out parts are taken from it. If
/// there is a test file, only the validation texts are. If there is a validation file, none are. Throws Error as read_table does. Throws it
/// too for a label that no training text has, and for a part without texts.
[[nodiscard]] TextDataset read_dataset(const TextSource& described);

/// How many texts of `held_out` are training texts too. The model has already seen these.
[[nodiscard]] std::int64_t texts_in_common(const Examples& train, const Examples& held_out);

/// One hash of the examples' texts and labels. It does not depend on their order or on the format of their file. It is the SHA-256 of the
/// sorted SHA-256(LABEL + "\n" + SHA-256(text)).
[[nodiscard]] Digest content_hash(const Examples& examples);

/// The hash of a data set, or of the used part of it, for the manifest of a model. It has 64 characters. If the same texts are divided in
/// another way, the hash is different.
[[nodiscard]] std::string content_hash(const TextDataset& dataset);

}  // namespace hpo::dataset
