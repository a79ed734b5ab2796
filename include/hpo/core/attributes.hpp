// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hpo/core/value.hpp"

namespace hpo {

/// Attributes of a study or a trial. Each name has a JSON text (`"\"text\""`, `"true"`, `"{...}"`), as the store keeps it. The setters
/// write that JSON. A text that is assigned with `[]` must already be JSON.
class Attributes : public std::map<std::string, std::string, std::less<>> {
public:
    Attributes() = default;
    Attributes(std::initializer_list<value_type> items) : std::map<std::string, std::string, std::less<>>(items) {}

    void set_text(std::string_view name, std::string_view text) { (*this)[name] = json_quote(text); }
    template <class T>
    requires std::is_arithmetic_v<T>
    void set_number(std::string_view name, T number) { (*this)[name] = number; }
    /// `json` is any JSON text. If the store cannot keep it, the trial goes on without it and a note says so.
    void set_json(std::string_view name, std::string json) { (*this)[name] = std::move(json); }

    /// The result of `[]`. Takes JSON text, or a number or a truth value, which it writes as JSON. A plain reference to the text would take
    /// a number for the code of a character.
    class Entry {
    public:
        explicit Entry(std::string& json) : json_{json} {}
        Entry(const Entry&) = default;
        ~Entry() = default;
        /// Takes the text of the other entry.
        Entry& operator=(const Entry& other) {
            json_ = other.json_;
            return *this;
        }
        Entry& operator=(std::string json) {
            json_ = std::move(json);
            return *this;
        }
        template <class T>
        requires std::is_arithmetic_v<T> Entry& operator=(T number) {
            static_assert(!std::is_same_v<T, char>, "a character is neither JSON text nor a number");
            if constexpr (std::is_same_v<T, bool>) json_ = number ? "true" : "false";
            else if constexpr (std::is_floating_point_v<T>) json_ = number_text(static_cast<double>(number));
            else json_ = std::to_string(number);
            return *this;
        }
        operator const std::string&() const noexcept { return json_; }

    private:
        std::string& json_;
    };
    Entry operator[](std::string_view name) { return Entry{try_emplace(std::string{name}).first->second}; }
};

}  // namespace hpo
