// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/line_reader.hpp"
#include "hpo/dataset/columns.hpp"
#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// Reads the records of a file with separated fields, as in RFC 4180. A field in quotes may contain separators, line ends and doubled
/// quotes. Lines end in CR LF or LF. Blank lines between records are skipped. TSV differs only in its separator.
class RecordReader {
public:
    struct Dialect {
        char separator = ',';
        bool quotes = true;
    };

    RecordReader(LineReader& lines, Dialect dialect) : lines_{lines}, dialect_{dialect} {}

    /// Reads the next record. Returns false at the end. Throws Error that names file, line and field.
    bool next();

    /// The fields of the record. Valid until the next call of next().
    [[nodiscard]] std::span<const std::string> fields() const noexcept { return std::span{fields_}.first(count_); }
    /// The line in which the record begins.
    [[nodiscard]] std::int64_t line() const noexcept { return line_; }
    [[nodiscard]] std::string place() const { return lines_.place(line_); }

private:
    /// Takes a field and the separator after it from `rest`. Returns false if it was the record's last field.
    bool read_field(std::string_view& rest);

    /// Reads from after the opening quote to after the closing one, over as many lines as needed.
    void read_quoted(std::string& field, std::string_view& rest);

    [[nodiscard]] Error refusal(std::int64_t line, const std::string& what) const {
        return Error{Errc::bad_value, lines_.place(line) + ", field " + std::to_string(count_) + ": " + what};
    }

    LineReader& lines_;
    Dialect dialect_;
    std::vector<std::string> fields_;  ///< those beyond count_ only keep their memory for later records
    std::size_t count_ = 0;
    std::int64_t line_ = 0;
};

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
