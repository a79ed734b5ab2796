// SPDX-License-Identifier: MIT
#include "support/latest_run.hpp"

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/run_rows.hpp"

namespace hpo::tools {

store::Json latest_configuration(const std::string& file, std::int64_t study_id, const store::PatienceOptions& patience) {
    std::optional<std::string> latest;
    store::Connection connection{file, store::Connection::Options{.write = true, .immutable = false, .patience = patience}};
    connection.read([&] { latest = store::latest_configuration(connection, study_id); });
    return store::parse_json(latest.value_or(""));
}

std::optional<std::string> text_in(const store::Json& configuration, const char* key) {
    if (!configuration.is_object()) return std::nullopt;
    const auto found = configuration.find(key);
    return found != configuration.end() && found->is_string() ? std::optional{found->get<std::string>()} : std::nullopt;
}

}  // namespace hpo::tools
