// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/text/json_file.hpp"

namespace hpo::text::detail {

/// The fields of a `config.json`. A field that is null counts as missing.
class ConfigFields {
public:
    ConfigFields(const nlohmann::json& document, std::string place) : document_{document}, place_{std::move(place)} {}

    struct Whole {
        std::int64_t least = 1;
        std::int64_t most = std::int64_t{1} << 24;
        std::optional<std::int64_t> otherwise = std::nullopt;  ///< nullopt: the field must be there
    };
    [[nodiscard]] std::int64_t whole(const char* key, const Whole& range) const;
    /// A number of at least 0 and less than `limit`.
    [[nodiscard]] double number(const char* key, double otherwise, double limit) const;
    /// The choice that the field names.
    template <class Choice, std::size_t size>
    [[nodiscard]] Choice choice(const char* key, const std::array<std::pair<std::string_view, Choice>, size>& choices,
                                std::optional<Choice> otherwise = std::nullopt) const {
        const nlohmann::json* value = find(key);
        if (value == nullptr && otherwise) return *otherwise;
        std::vector<std::string> known;
        for (const auto& [name, choice] : choices) {
            if (value != nullptr && *value == name) return choice;
            known.emplace_back(name);
        }
        if (value == nullptr || !value->is_string())
            throw bad_value(at(key), value ? shown_json(*value) : "nothing", "one of " + join_names(known));
        throw unknown_name(place_, key, shown(value->template get<std::string>()), known);
    }
    /// Throws Error if the field asks for something that no encoder of hpo supports.
    void refuse_unless(const char* key, const nlohmann::json& supported) const {
        const nlohmann::json* value = find(key);
        if (value != nullptr && *value != supported) throw unsupported(key, value, supported);
    }
    /// Throws Error unless the field is there and has one of these values, which all mean the same.
    void require(const char* key, const std::vector<nlohmann::json>& supported) const;

private:
    [[nodiscard]] Error unsupported(const char* key, const nlohmann::json* value, const nlohmann::json& supported) const {
        return bad_value(at(key), value ? shown_json(*value) : "nothing", supported.dump() + ", all that is supported");
    }
    [[nodiscard]] std::string at(const char* key) const { return place_ + ": " + key; }
    [[nodiscard]] const nlohmann::json* find(const char* key) const {
        const auto found = document_.find(key);
        return found == document_.end() || found->is_null() ? nullptr : &*found;
    }

    const nlohmann::json& document_;
    std::string place_;
};

}  // namespace hpo::text::detail
