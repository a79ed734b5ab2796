// SPDX-License-Identifier: MIT
//
// The border between a user's data file and the program: whatever bytes it holds, and whatever its name says it is, reading it
// ends with a table or an hpo::Error of one line that names the file; and a table that was read can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "dataset/read_table.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/dataset/split.hpp"
#include "support/memory_file.hpp"

namespace {

using hpo::dataset::TextTable;

[[noreturn]] void wrong(const char* what) {
    std::cerr << "table_fuzz: " << what << '\n';
    std::abort();
}

std::string csv_field(std::string_view text) {
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? std::string{"\"\""} : std::string{c};
    return field + "\"";
}

void check_table(const TextTable& table) {
    static const hpo::tests::MemoryFile again{"again.csv"};
    std::string csv = "label,text\r\n";
    for (std::int64_t row = 0; row < table.rows(); ++row) {
        if (table.label(row).empty()) wrong("a row without a label");
        if (hpo::find_invalid_utf8(table.text(row)) != std::string_view::npos) wrong("a text that is not UTF-8");
        csv += csv_field(table.label(row)) + "," + csv_field(table.text(row)) + "\r\n";
    }
    again.write(csv);
    const TextTable copy = hpo::dataset::read_table(again.path());
    if (copy.rows() != table.rows()) wrong("another number of rows when written and read again");
    for (std::int64_t row = 0; row < table.rows(); ++row) {
        if (copy.text(row) != table.text(row) || copy.label(row) != table.label(row)) wrong("another row when written and read again");
    }
    const auto split = hpo::dataset::split_by_text(table, {.test = 0.3, .validation = 0.3});
    if (split.train.size() + split.validation.size() + split.test.size() != static_cast<std::size_t>(table.rows()))
        wrong("a row is in no part");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    struct Case {
        hpo::tests::MemoryFile file;
        std::string_view header;  ///< put before the bytes, so that they are read as rows
        bool quotes = true;
    };
    static const Case cases[] = {{hpo::tests::MemoryFile{"f.csv"}, ""},
                                 {hpo::tests::MemoryFile{"f.csv"}, "text,label\n"},
                                 {hpo::tests::MemoryFile{"f.tsv"}, "label\ttext\n", false},
                                 {hpo::tests::MemoryFile{"f.jsonl.gz"}, ""}};
    for (const auto& [file, header, quotes] : cases) {
        file.write(std::string{header} + std::string{reinterpret_cast<const char*>(data), size});
        try {
            check_table(hpo::dataset::read_table(file.path(), {.quotes = quotes}));
        } catch (const hpo::Error& error) {
            const std::string_view text = error.what();
            if (!text.starts_with(file.path())) wrong("an error without its file");
            if (!hpo::is_plain_text(text)) wrong("an error is not one line of plain text");
        }
    }
    return 0;
}
