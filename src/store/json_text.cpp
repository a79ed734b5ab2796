// SPDX-License-Identifier: MIT
#include "hpo/store/json_text.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::store {

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
