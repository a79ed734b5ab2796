// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/dataset/label_table.hpp"
#include "hpo/dataset/read_table.hpp"
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

namespace detail {

/// The one file in `folder` that has one of the part's names and an ending that a reader knows; empty when there is none.
[[nodiscard]] inline std::filesystem::path find_part(const std::filesystem::path& folder, std::span<const std::string_view> names) {
    const std::string part{names.front()};
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        const std::string name = entry.path().filename().string();
        if (std::find(names.begin(), names.end(), name.substr(0, name.find('.'))) != names.end() && table_format(name)) found.insert(name);
    }
    if (found.size() > 1) {
        throw bad_value(folder.string(), *found.begin() + " and " + *std::next(found.begin()), "one file of " + part + " texts");
    }
    return found.empty() ? std::filesystem::path{} : folder / *found.begin();
}

}  // namespace detail

namespace detail {

/// Tables in `folder` that have the name of no part, in the order of their names.
[[nodiscard]] inline std::vector<std::string> find_others(const std::filesystem::path& folder) {
    const auto names = [](std::span<const std::string_view> part, const std::string& name) {
        return std::find(part.begin(), part.end(), name.substr(0, name.find('.'))) != part.end();
    };
    std::vector<std::string> others;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        const std::string name = entry.path().filename().string();
        if (table_format(name) && !names(train_names, name) && !names(validation_names, name) && !names(test_names, name))
            others.push_back(name);
    }
    std::sort(others.begin(), others.end());
    return others;
}

}  // namespace detail

/// The files of a source: `data` is then a file, or empty where a model is measured and a folder has no training texts; the others are
/// empty where the rule holds. Throws Error.
[[nodiscard]] inline TextSource resolve_files(TextSource source) {
    if (!std::filesystem::is_directory(source.data)) return source;
    const std::filesystem::path folder = source.data;
    source.passed_over = detail::find_others(folder);
    source.data = detail::find_part(folder, train_names);
    if (source.validation.empty()) source.validation = detail::find_part(folder, validation_names);
    if (source.test.empty()) source.test = detail::find_part(folder, test_names);
    if (source.data.empty() && !(source.model_labels && !source.validation.empty())) {
        throw Error{Errc::bad_value, folder.string() +
                                         (source.model_labels ? ": no texts to measure; expected validation.* or train.*"
                                                              : ": no training texts; expected train.*") +
                                         " with an ending of " + std::string{known_endings}};
    }
    return source;
}

namespace detail {

/// The rows of a table.
[[nodiscard]] inline std::vector<std::int64_t> all_rows(const TextTable& table) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    return rows;
}

/// The parts of `data` by the source's rule, but for those that have a file.
[[nodiscard]] inline Split divided(const TextTable& table, const TextSource& source) {
    SplitRule rule = source.split;
    if (!source.test.empty() || !source.validation.empty()) rule.test = 0;
    if (!source.validation.empty()) rule.validation = 0;
    if (source.model_labels && rule.validation == 1) return {.validation = all_rows(table)};
    Split split = split_by_text(table, rule);
    const auto need = [&](const std::vector<std::int64_t>& rows, const std::string& part, bool needed) {
        if (rows.empty() && needed) throw Error{Errc::bad_value, table.name() + ": too few texts: none falls to the " + part};
    };
    const std::string hint = source.model_labels ? "; a share of 1 measures all of them" : "";
    need(split.validation, "validation part" + hint, rule.validation > 0);
    need(split.train, "training part", !source.model_labels);
    need(split.test, "test part", !source.model_labels && rule.test > 0);
    return split;
}

}  // namespace detail

/// Reads labelled texts, divided by files or else by split_by_text: from `data` alone both held-out parts are taken; beside a test file
/// the validation texts; beside a validation file nothing. Throws Error as read_table does, for labels that no training text has, and
/// for a part without texts.
[[nodiscard]] inline TextDataset read_dataset(const TextSource& described) {
    const TextSource source = resolve_files(described);
    std::shared_ptr<const TextTable> table;
    Split split;
    if (!source.data.empty()) {
        table = std::make_shared<const TextTable>(read_table(source.data, source.columns));
        split = detail::divided(*table, source);
    }
    TextDataset dataset;
    dataset.passed_over = source.passed_over;
    if (source.model_labels) {
        dataset.labels = *source.model_labels;
        if (table) dataset.train = {table, std::move(split.train)};
    } else {
        std::set<std::string> names;
        for (const std::int64_t row : split.train) names.insert(table->label(row));
        dataset.labels = {{names.begin(), names.end()}, source.data.string()};
        dataset.train = {table, std::move(split.train), dataset.labels};
    }
    const auto held_out = [&](const std::filesystem::path& file, std::vector<std::int64_t> rows) -> Examples {
        if (file.empty()) return {table, std::move(rows)};
        auto part = std::make_shared<const TextTable>(read_table(file, source.columns));
        rows = detail::all_rows(*part);
        return {std::move(part), std::move(rows)};
    };
    dataset.validation = held_out(source.validation, std::move(split.validation)).chosen({}, dataset.labels);
    dataset.test = held_out(source.test, std::move(split.test));
    if (!source.model_labels) dataset.test = dataset.test.chosen({}, dataset.labels);
    return dataset;
}

/// How many of `held_out` have a text that is trained on, too: what their score knows beforehand.
[[nodiscard]] inline std::int64_t texts_in_common(const Examples& train, const Examples& held_out) {
    std::set<Digest> known;
    for (std::int64_t i = 0; i < train.size(); ++i) known.insert(train.digest(i));
    std::int64_t common = 0;
    for (std::int64_t i = 0; i < held_out.size(); ++i) common += known.contains(held_out.digest(i)) ? 1 : 0;
    return common;
}

/// One hash of what the examples say: their texts and labels, whatever their order and the format of their file.
/// SHA-256 of the sorted SHA-256(LABEL + "\n" + SHA-256(text)).
[[nodiscard]] inline Digest content_hash(const Examples& examples) {
    std::vector<Digest> rows;
    rows.reserve(static_cast<std::size_t>(examples.size()));
    for (std::int64_t i = 0; i < examples.size(); ++i) {
        rows.push_back(Sha256{}.add(examples.label_name(i)).add("\n").add(examples.digest(i)).finish());
    }
    std::sort(rows.begin(), rows.end());
    Sha256 hash;
    for (const Digest& row : rows) hash.add(row);
    return hash.finish();
}

/// The hash of a data set, or of what is used of it, for the manifest of a model: 64 characters. The same texts divided in another way
/// have another.
[[nodiscard]] inline std::string content_hash(const TextDataset& dataset) {
    Sha256 hash;
    for (const Examples* part : {&dataset.train, &dataset.validation, &dataset.test}) hash.add(content_hash(*part));
    return hex_text(hash.finish());
}

}  // namespace hpo::dataset
