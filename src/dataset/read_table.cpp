// SPDX-License-Identifier: MIT
#include "dataset/read_table.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "dataset/line_reader.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"
#include "hpo/dataset/shown_names.hpp"

namespace hpo::dataset {

bool RecordReader::next() {
    do {
        if (!lines_.next()) return false;
    } while (lines_.blank());
    line_ = lines_.number();
    count_ = 0;
    std::string_view rest = lines_.text();
    while (read_field(rest)) {
    }
    return true;
}

bool RecordReader::read_field(std::string_view& rest) {
    if (count_ == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[count_++];
    field.clear();
    if (dialect_.quotes && rest.starts_with('"')) {
        rest.remove_prefix(1);
        read_quoted(field, rest);
        if (rest.empty() || rest == "\r") return false;
        if (rest.front() != dialect_.separator) {
            throw refusal(lines_.number(), "text after the closing quote; a quote inside a quoted field is written twice");
        }
    } else {
        const std::size_t end = rest.find(dialect_.separator);
        field = rest.substr(0, end);
        if (end == std::string_view::npos) {
            if (field.ends_with('\r')) field.pop_back();
            return false;
        }
        rest.remove_prefix(end);
    }
    rest.remove_prefix(1);
    return true;
}

void RecordReader::read_quoted(std::string& field, std::string_view& rest) {
    const std::int64_t opened = lines_.number();
    for (;;) {
        const std::size_t quote = rest.find('"');
        field += rest.substr(0, quote);
        if (quote == std::string_view::npos) {
            field += '\n';
            if (!lines_.next()) throw refusal(opened, "its quote is never closed");
            rest = lines_.text();
            continue;
        }
        rest.remove_prefix(quote + 1);
        if (!rest.starts_with('"')) return;
        field += '"';
        rest.remove_prefix(1);
    }
}

std::optional<TableFormat> table_format(const std::filesystem::path& file) {
    std::string name = file.filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    for (const auto& [ending, format] : table_endings) {
        if (name.ends_with(ending)) return format;
    }
    return std::nullopt;
}

}  // namespace hpo::dataset

namespace hpo::dataset::detail {

void read_records(LineReader& lines, const Columns& columns, RecordReader::Dialect dialect, TextTable& table) {
    RecordReader records{lines, dialect};
    if (!records.next()) throw Error{Errc::bad_value, lines.file_name() + ": empty; expected a first line with the names of the columns"};
    const std::vector<std::string> names{records.fields().begin(), records.fields().end()};
    const std::size_t text = column_index(records.place(), names, columns.text);
    const std::size_t label = column_index(records.place(), names, columns.label);
    while (records.next()) {
        const auto fields = records.fields();
        if (fields.size() != names.size()) {
            throw Error{Errc::bad_value, records.place() + ": got " + std::to_string(fields.size()) + " fields; expected " +
                                             std::to_string(names.size()) + ": " + join_names(shown_names(names))};
        }
        if (fields[label].find_first_not_of(' ') == std::string_view::npos) {
            throw Error{Errc::bad_value,
                        records.place() + ", field " + std::to_string(label + 1) + " (" + shown(columns.label) + "): no label"};
        }
        table.append({fields[text], fields[label], records.line()});
    }
}

void read_json_lines(LineReader& lines, const Columns& columns, TextTable& table) {
    using Json = nlohmann::json;
    while (lines.next()) {
        if (lines.blank()) continue;
        const auto refusal = [&](const std::string& what) { return lines.refusal(lines.number(), what); };
        Json row;
        try {
            row = Json::parse(lines.text());
        } catch (const Json::exception& error) {
            const auto* const where = dynamic_cast<const Json::parse_error*>(&error);
            throw refusal("not JSON" + (where != nullptr ? " at byte " + std::to_string(where->byte) + " of the line" : std::string{}));
        }
        if (!row.is_object()) throw refusal("got a JSON " + std::string{row.type_name()} + "; expected an object in each line");
        const auto field = [&](const std::string& name) -> const Json& {
            if (const auto found = row.find(name); found != row.end()) return *found;
            std::vector<std::string> names;
            for (const auto& [known, value] : row.items()) names.push_back(known);
            throw unknown_name(lines.place(lines.number()), "column", shown(name), shown_names(names));
        };
        const Json& text = field(columns.text);
        if (!text.is_string()) throw refusal("field '" + shown(columns.text) + "': got a JSON " + text.type_name() + "; expected a text");
        const Json& label = field(columns.label);
        if (!label.is_string() && !label.is_number_integer()) {  // other numbers can be written in several ways
            throw refusal("field '" + shown(columns.label) + "': got " +
                          (label.is_number() ? "the number " + label.dump() : "a JSON " + std::string{label.type_name()}) +
                          "; expected a text or a whole number of at most 64 bits, without point or exponent");
        }
        const std::string name = label.is_string() ? label.get<std::string>() : label.dump();
        if (name.find_first_not_of(' ') == std::string::npos) throw refusal("field '" + shown(columns.label) + "': no label");
        table.append({text.get_ref<const std::string&>(), name, lines.number()});
    }
}

}  // namespace hpo::dataset::detail

namespace hpo::dataset {

TextTable read_table(const std::filesystem::path& file, const Columns& columns) {
    if (std::error_code unreadable; !std::filesystem::exists(file, unreadable))
        throw Error{Errc::bad_value, file.string() + ": no such file or folder; expected texts and labels in a file that ends in " +
                                         std::string{known_endings} + ", or a folder with train.*"};
    const auto format = table_format(file);
    if (!format)
        throw bad_value(file.string(), "a name that does not say what the file holds", "one that ends in " + std::string{known_endings});
    if (columns.text == columns.label)
        throw bad_value(file.string(), "column '" + columns.text + "' for texts and for labels", "two columns");
    LineReader lines{file, "a table of texts and labels"};
    TextTable table{file.string()};
    if (*format == TableFormat::json_lines) detail::read_json_lines(lines, columns, table);
    else detail::read_records(lines, columns, {.separator = *format == TableFormat::csv ? ',' : '\t', .quotes = columns.quotes}, table);
    if (table.rows() == 0) throw Error{Errc::bad_value, file.string() + ": no rows"};
    return table;
}

}  // namespace hpo::dataset
