// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace hpo {

/// The record as one line of JSON, without a line end. Bytes that are not UTF-8 become U+FFFD. The records that
/// src/trainer/record_line.cpp lists need no JSON library. For any other record include trainer/json.hpp.
template <class Record>
[[nodiscard]] std::string record_line(const Record& record);

/// Reads the record back. Throws Error{bad_value} that names the place of a mistake.
template <class Record>
[[nodiscard]] Record read_record(std::string_view text, const std::string& place);

}  // namespace hpo
