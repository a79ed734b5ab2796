// SPDX-License-Identifier: MIT
#include "dataset/record_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace hpo::dataset
