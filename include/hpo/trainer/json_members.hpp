// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// How a record says which of its members travel as JSON. It needs no JSON library (trainer/json_codec.hpp does).
namespace hpo {

/// A member of a record and its key in JSON.
template <class Record, class T>
struct JsonMember {
    std::string_view key;
    T Record::*member;
};
template <class Record, class T>
JsonMember(std::string_view, T Record::*) -> JsonMember<Record, T>;

/// Specialised for each record that travels as JSON: `static constexpr std::tuple list{JsonMember{...}, ...}`.
template <class Record>
struct JsonMembers;

/// Specialised for each enumeration that travels as JSON: `static constexpr auto& names` in the order of its values.
template <class Enum>
struct JsonNames;

}  // namespace hpo
