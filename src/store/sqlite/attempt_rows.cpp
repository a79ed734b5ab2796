// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/attempt_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/store/sqlite/stored_time.hpp"
#include "store/sqlite/record_columns.hpp"

namespace hpo::store {

std::string parts_text(const std::vector<EstimatePart>& parts) {
    std::string text = "[";
    for (const EstimatePart& part : parts) {
        text += (text.size() > 1 ? ",[" : "[") + json_quote(part.name) + "," + std::to_string(part.bytes) + "]";
    }
    return text + "]";
}

std::vector<EstimatePart> parse_parts(std::string_view text) {
    const Json list = parse_json(text);
    std::vector<EstimatePart> parts;
    if (!list.is_array()) return parts;
    for (const Json& part : list) {
        if (part.is_array() && part.size() == 2 && part[0].is_string() && part[1].is_number_integer()) {
            parts.push_back({part[0].get<std::string>(), part[1].get<std::int64_t>()});
        }
    }
    return parts;
}

std::optional<std::string> neighbours_text(const std::vector<MemoryNeighbour>& neighbours) {
    if (neighbours.empty()) return std::nullopt;
    std::string text = "[";
    for (const MemoryNeighbour& neighbour : neighbours) {
        text += (text.size() > 1 ? "," : "") + ("{\"pid\":" + std::to_string(neighbour.pid)) +
                ",\"bytes\":" + std::to_string(neighbour.bytes) +
                (neighbour.program.empty() ? "" : ",\"program\":" + json_quote(valid_utf8(neighbour.program))) + "}";
    }
    return text + "]";
}

std::vector<MemoryNeighbour> parse_neighbours(std::string_view text) {
    std::vector<MemoryNeighbour> neighbours;
    for (const Json& neighbour : json_objects(text)) {
        neighbours.push_back(
            {neighbour.value("pid", std::int64_t{0}), neighbour.value("bytes", std::int64_t{0}), neighbour.value("program", "")});
    }
    return neighbours;
}

std::optional<std::string> maybe_time_text(const std::optional<Time>& time) {
    return time ? std::optional{time_text(*time)} : std::nullopt;
}

void write_failure(Connection& connection, std::int64_t trial_id, int attempt, const Failure& failure) {
    static const std::string sql =
        failures_table().insert() + " ON CONFLICT (trial_id, attempt) DO UPDATE SET " + failures_table().updates();
    connection.run_bound(sql.c_str(), [&](StatementBinder& bind) {
        bind(trial_id);
        bind(attempt);
        bind_columns(&failure, bind);
    });
}

void write_mark(Connection& connection, std::int64_t trial_id, int attempt, const MemoryMark& mark) {
    static const std::string sql = "INSERT INTO hpo_memory (" + memory_table().names() + ") SELECT " + memory_table().places() +
                                   " WHERE NOT EXISTS (SELECT 1 FROM hpo_memory WHERE trial_id = ?1 AND attempt = ?2 AND name = ?3 AND "
                                   "seconds IS ?4 AND step IS ?5)";
    connection.run_bound(sql.c_str(), [&](StatementBinder& bind) {
        bind(trial_id);
        bind(attempt);
        bind_columns(&mark, bind);
    });
}

void write_attempt(Connection& connection, std::int64_t trial_id, const Attempt& attempt) {
    static const std::string sql =
        attempts_table().insert() + " ON CONFLICT (trial_id, attempt) DO UPDATE SET " + attempts_table().updates();
    connection.run_bound(sql.c_str(), [&](StatementBinder& bind) {
        bind(trial_id);
        bind_columns(&attempt, bind);
    });
    if (attempt.failure) write_failure(connection, trial_id, attempt.index, *attempt.failure);
    for (const MemoryMark& mark : attempt.memory) write_mark(connection, trial_id, attempt.index, mark);
    for (const auto& [step, value] : attempt.reports) {
        connection.run("INSERT OR REPLACE INTO hpo_attempt_reports (trial_id, attempt, step, value) VALUES (?1, ?2, ?3, ?4)", trial_id,
                       attempt.index, step, value);
    }
}

void write_rejection(Connection& connection, std::int64_t study_id, const Rejection& rejection) {
    static const std::string sql = rejections_table().insert();
    connection.run_bound(sql.c_str(), [&](StatementBinder& bind) {
        bind(study_id);
        bind_columns(&rejection, bind);
    });
}

}  // namespace hpo::store
