// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "hpo/dataset/columns.hpp"
#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// The format of a table, by the ending of its file's name.
enum class TableFormat { csv, tsv, json_lines };

/// The known endings. Each may be followed by `.gz`.
inline constexpr std::array<std::pair<std::string_view, TableFormat>, 4> table_endings{
    {{".csv", TableFormat::csv}, {".tsv", TableFormat::tsv}, {".jsonl", TableFormat::json_lines}, {".ndjson", TableFormat::json_lines}}};
inline constexpr std::string_view known_endings = ".csv, .tsv, .jsonl or .ndjson, each also with .gz behind it";

/// The format of a file. Returns nullopt if its ending is not known.
[[nodiscard]] std::optional<TableFormat> table_format(const std::filesystem::path& file);

/// Reads texts and labels from a CSV, TSV or JSON lines file, by the ending of its name. It may be compressed. A whole number as a label
/// becomes the text of its digits. Throws Error that names file, line and field. Errors are: no such file or column, a quote that is not
/// closed, a wrong number of fields, bytes that are not UTF-8, no label, no rows.
[[nodiscard]] TextTable read_table(const std::filesystem::path& file, const Columns& columns = {});

}  // namespace hpo::dataset
