// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/dataset/line_reader.hpp"

namespace hpo::dataset {

/// The records of a file of separated fields, as RFC 4180 writes them: a field in quotes may hold separators, line ends and
/// doubled quotes; lines end in CR LF or LF; blank lines between records are skipped. TSV differs in its separator only.
class RecordReader {
public:
    struct Dialect {
        char separator = ',';
        bool quotes = true;
    };

    RecordReader(LineReader& lines, Dialect dialect) : lines_{lines}, dialect_{dialect} {}

    /// Goes on to the next record; false at the end. Throws Error that names file, line and field.
    bool next();

    /// Valid until the next call of next().
    [[nodiscard]] std::span<const std::string> fields() const noexcept { return std::span{fields_}.first(count_); }
    /// The line in which the record begins.
    [[nodiscard]] std::int64_t line() const noexcept { return line_; }
    [[nodiscard]] std::string place() const { return lines_.place(line_); }

private:
    /// Takes a field and the separator behind it from `rest`; false when it was the record's last.
    bool read_field(std::string_view& rest);

    /// From behind the opening quote to behind the closing one, over as many lines as it takes.
    void read_quoted(std::string& field, std::string_view& rest);

    [[nodiscard]] Error refusal(std::int64_t line, const std::string& what) const {
        return Error{Errc::bad_value, lines_.place(line) + ", field " + std::to_string(count_) + ": " + what};
    }

    LineReader& lines_;
    Dialect dialect_;
    std::vector<std::string> fields_;  ///< those beyond count_ are kept for their memory
    std::size_t count_ = 0;
    std::int64_t line_ = 0;
};

}  // namespace hpo::dataset

#ifndef HPO_COMPILED
#include "hpo/dataset/impl/record_reader_inl.hpp"
#endif
