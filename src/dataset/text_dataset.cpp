// SPDX-License-Identifier: MIT
#include "hpo/dataset/text_dataset.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/read_table.hpp"
#include "hpo/base/error.hpp"

namespace hpo::dataset::detail {

/// The file in `folder` that has one of the part's names and a known ending. Empty if there is none.
[[nodiscard]] std::filesystem::path find_part(const std::filesystem::path& folder, std::span<const std::string_view> names) {
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

/// The tables in `folder` that do not have the name of a part, sorted by name.
[[nodiscard]] std::vector<std::string> find_others(const std::filesystem::path& folder) {
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

}  // namespace hpo::dataset::detail

namespace hpo::dataset {

TextSource resolve_files(TextSource source) {
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

}  // namespace hpo::dataset

namespace hpo::dataset::detail {

std::vector<std::int64_t> all_rows(const TextTable& table) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    return rows;
}

Split divided(const TextTable& table, const TextSource& source) {
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

}  // namespace hpo::dataset::detail

namespace hpo::dataset {

TextDataset read_dataset(const TextSource& described) {
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

std::int64_t texts_in_common(const Examples& train, const Examples& held_out) {
    std::set<Digest> known;
    for (std::int64_t i = 0; i < train.size(); ++i) known.insert(train.digest(i));
    std::int64_t common = 0;
    for (std::int64_t i = 0; i < held_out.size(); ++i) common += known.contains(held_out.digest(i)) ? 1 : 0;
    return common;
}

Digest content_hash(const Examples& examples) {
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

std::string content_hash(const TextDataset& dataset) {
    Sha256 hash;
    for (const Examples* part : {&dataset.train, &dataset.validation, &dataset.test}) hash.add(content_hash(*part));
    return hex_text(hash.finish());
}

}  // namespace hpo::dataset
