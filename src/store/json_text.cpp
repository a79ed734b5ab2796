// SPDX-License-Identifier: MIT
#include "hpo/store/json_text.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/utf8.hpp"

namespace hpo::store {

std::string valid_utf8(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = utf8_length(text, i);
        if (length > 0) valid.append(text, i, length);
        else valid += "\xEF\xBF\xBD";
        i += length > 0 ? length : 1;
    }
    return valid;
}

std::vector<Json> json_objects(std::string_view text) {
    std::vector<Json> objects;
    Json list = parse_json(text);
    if (!list.is_array()) return objects;
    for (Json& item : list) {
        if (item.is_object()) objects.push_back(std::move(item));
    }
    return objects;
}

std::string checked_json(std::string_view place, std::string_view key, std::string_view json) {
    std::string text = valid_utf8(json);
    if (parse_json(text).is_discarded()) {
        throw bad_value(std::string{place} + ", attribute '" + std::string{key} + "'", text.substr(0, 60),
                        "JSON text of at most " + std::to_string(most_levels) + " levels");
    }
    return text;
}

}  // namespace hpo::store
