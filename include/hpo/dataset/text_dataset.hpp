// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
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
    Examples(std::shared_ptr<const TextTable> table, std::vector<std::int64_t> rows, const LabelTable& labels)
        : table_{std::move(table)}, rows_{std::move(rows)}, classes_{labels.encode(*table_, rows_)} {}

    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(rows_.size()); }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    [[nodiscard]] std::string_view text(std::int64_t example) const { return table_->text(row(example)); }
    [[nodiscard]] std::int64_t label(std::int64_t example) const { return classes_[static_cast<std::size_t>(example)]; }
    [[nodiscard]] std::span<const std::int64_t> labels() const noexcept { return classes_; }
    /// SHA-256 of an example's text.
    [[nodiscard]] const Digest& digest(std::int64_t example) const { return table_->digest(row(example)); }

    /// As `subset` chooses them.
    [[nodiscard]] Examples chosen(const SubsetRule& rule, const LabelTable& labels) const {
        if (empty() && rule.examples == 0) return {};
        return {table_, subset(*table_, rows_, rule), labels};
    }

private:
    [[nodiscard]] std::int64_t row(std::int64_t example) const { return rows_[static_cast<std::size_t>(example)]; }

    std::shared_ptr<const TextTable> table_;
    std::vector<std::int64_t> rows_;
    std::vector<std::int64_t> classes_;
};

/// Where labelled texts lie, and by which rule they are divided where files do not divide them.
struct TextSource {
    std::filesystem::path data;        ///< a file; or a folder with train.*, and possibly validation.* and test.*
    std::filesystem::path validation;  ///< a file; empty: the folder's, else taken from `data` by the rule
    std::filesystem::path test;        ///< likewise
    Columns columns;
    SplitRule split;
};

/// Labelled texts to train on, to choose by, and to measure with at the end.
struct TextDataset {
    LabelTable labels;  ///< of the training texts
    Examples train;
    Examples validation;
    Examples test;  ///< may be empty: a folder with a validation file and no test file
};

namespace detail {

/// The one file in `folder` that is called `part` and has an ending that a reader knows; empty when there is none.
[[nodiscard]] inline std::filesystem::path find_part(const std::filesystem::path& folder, const std::string& part) {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        const std::string name = entry.path().filename().string();
        if (name.substr(0, name.find('.')) == part && table_format(name)) found.insert(name);
    }
    if (found.size() > 1) {
        throw bad_value(folder.string(), *found.begin() + " and " + *std::next(found.begin()), "one file of " + part + " texts");
    }
    return found.empty() ? std::filesystem::path{} : folder / *found.begin();
}

}  // namespace detail

/// The files of a source: `data` is then a file, the others are empty where the rule holds. Throws Error.
[[nodiscard]] inline TextSource resolve_files(TextSource source) {
    if (!std::filesystem::is_directory(source.data)) return source;
    const std::filesystem::path folder = source.data;
    source.data = detail::find_part(folder, "train");
    if (source.data.empty()) {
        throw Error{Errc::bad_value,
                    folder.string() + ": no training texts; expected train.* with an ending of " + std::string{known_endings}};
    }
    if (source.validation.empty()) source.validation = detail::find_part(folder, "validation");
    if (source.test.empty()) source.test = detail::find_part(folder, "test");
    return source;
}

/// Reads labelled texts, divided by files or else by split_by_text: from `data` alone both held-out parts are taken; beside a test file
/// the validation texts; beside a validation file nothing. Throws Error as read_table does, for labels that no training text has, and
/// for a part without texts.
[[nodiscard]] inline TextDataset read_dataset(const TextSource& described) {
    const TextSource source = resolve_files(described);
    const auto table = std::make_shared<const TextTable>(read_table(source.data, source.columns));
    SplitRule rule = source.split;
    if (!source.test.empty() || !source.validation.empty()) rule.test = 0;
    if (!source.validation.empty()) rule.validation = 0;
    Split split = split_by_text(*table, rule);
    const auto need = [&](const std::vector<std::int64_t>& rows, const std::string& part, double share) {
        if (rows.empty() && share > 0)
            throw Error{Errc::bad_value, source.data.string() + ": too few texts: none falls to the " + part + " part"};
    };
    need(split.train, "training", 1);
    need(split.validation, "validation", rule.validation);
    need(split.test, "test", rule.test);

    std::set<std::string> names;
    for (const std::int64_t row : split.train) names.insert(table->label(row));
    TextDataset dataset{.labels = {{names.begin(), names.end()}, source.data.string()}};
    const auto whole_file = [&](const std::filesystem::path& file) {
        auto part = std::make_shared<const TextTable>(read_table(file, source.columns));
        std::vector<std::int64_t> rows(static_cast<std::size_t>(part->rows()));
        std::iota(rows.begin(), rows.end(), std::int64_t{0});
        return Examples{std::move(part), std::move(rows), dataset.labels};
    };
    dataset.train = {table, std::move(split.train), dataset.labels};
    dataset.validation =
        source.validation.empty() ? Examples{table, std::move(split.validation), dataset.labels} : whole_file(source.validation);
    dataset.test = source.test.empty() ? Examples{table, std::move(split.test), dataset.labels} : whole_file(source.test);
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
[[nodiscard]] inline Digest content_hash(const Examples& examples, const LabelTable& labels) {
    std::vector<Digest> rows;
    rows.reserve(static_cast<std::size_t>(examples.size()));
    for (std::int64_t i = 0; i < examples.size(); ++i) {
        const std::string& label = labels.names()[static_cast<std::size_t>(examples.label(i))];
        rows.push_back(Sha256{}.add(label).add("\n").add(examples.digest(i)).finish());
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
    for (const Examples* part : {&dataset.train, &dataset.validation, &dataset.test}) hash.add(content_hash(*part, dataset.labels));
    return hex_text(hash.finish());
}

}  // namespace hpo::dataset
