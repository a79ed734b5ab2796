// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/attempt_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/store/sqlite/stored_time.hpp"
#include "store/sqlite/plan_columns.hpp"

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

std::optional<std::string> known_text(const std::string& text) { return text.empty() ? std::nullopt : std::optional{valid_utf8(text)}; }

MemoryReading read_memory(const Rows& row, int first) {
    MemoryReading reading;
    reading.allocated = row.maybe_integer(first);
    reading.reserved = row.maybe_integer(first + 1);
    reading.free = row.maybe_integer(first + 2);
    reading.capacity = row.maybe_integer(first + 3);
    reading.limit = row.maybe_integer(first + 4);
    reading.peak_allocated = row.maybe_integer(first + 5);
    reading.peak_reserved = row.maybe_integer(first + 6);
    if (const auto neighbours = row.maybe_text(first + 7)) reading.neighbours = parse_neighbours(*neighbours);
    return reading;
}

std::optional<Estimate> read_estimate(const Rows& row, int first) {
    if (row.is_null(first + 2)) return std::nullopt;
    Estimate estimate;
    estimate.need = row.maybe_integer(first);
    estimate.comfort = row.maybe_integer(first + 1);
    estimate.source = row.text(first + 2);
    estimate.confidence = row.real(first + 3).value_or(0);
    estimate.cap_bytes = row.maybe_integer(first + 4);
    if (const auto parts = row.maybe_text(first + 5)) estimate.parts = parse_parts(*parts);
    return estimate;
}

namespace {

std::vector<std::string> names_with_planned(std::span<const std::string_view> columns) {
    std::vector<std::string> names{columns.begin(), columns.end()};
    names.insert(names.end(), planned_columns.begin(), planned_columns.end());
    each_plan_field([&](const auto& field) { names.emplace_back(field.key); });
    return names;
}

std::string insert_with_planned(const std::string& table, std::span<const std::string_view> columns) {
    std::vector<std::string> places = names_with_planned(columns);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = "?" + std::to_string(i + 1);
    return "INSERT INTO " + table + " (" + columns_with_planned(columns) + ") VALUES (" + join_names(places) + ")";
}

/// The values of planned_columns and of the plan's columns, of an attempt or a rejection.
template <class Record>
auto planned_values(const Record& record) {
    const Estimate* const estimate = record.estimate ? &*record.estimate : nullptr;
    using Count = std::optional<std::int64_t>;
    return std::tuple_cat(
        std::tuple{estimate ? estimate->need : Count{}, estimate ? estimate->comfort : Count{},
                   estimate ? std::optional{estimate->source} : std::nullopt, estimate ? std::optional{estimate->confidence} : std::nullopt,
                   estimate ? estimate->cap_bytes : Count{}, estimate ? std::optional{parts_text(estimate->parts)} : std::nullopt,
                   record.capacity_bytes},
        std::apply([&](const auto&... field) { return std::tuple{plan_column(record.plan.*field.member)...}; }, plan_fields));
}

}  // namespace

std::string columns_with_planned(std::span<const std::string_view> columns, std::string_view before) {
    std::vector<std::string> names = names_with_planned(columns);
    for (std::string& name : names) name.insert(0, before);
    return join_names(names);
}

const char* attempt_upsert() {
    static const std::string sql = [] {
        std::vector<std::string> updates = names_with_planned(attempt_columns);
        updates.erase(updates.begin(), updates.begin() + 2);  // the key
        for (std::string& name : updates) name += " = excluded." + name;
        return insert_with_planned("hpo_attempts", attempt_columns) + " ON CONFLICT (trial_id, attempt) DO UPDATE SET " +
               join_names(updates);
    }();
    return sql.c_str();
}

void write_failure(Connection& connection, std::int64_t trial_id, int attempt, const Failure& failure) {
    const MemoryReading& memory = failure.memory;
    connection.run(
        "INSERT OR REPLACE INTO hpo_failures (trial_id, attempt, kind, cause, evidence, message, exception_type, cuda_error_code, signal, "
        "exit_status, phase, traceback, requested_bytes, allocated_bytes, reserved_bytes, free_bytes, capacity_bytes, limit_bytes, "
        "peak_allocated_bytes, peak_reserved_bytes, neighbours) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        trial_id, attempt, hpo::to_text(failure.kind), failure.cause ? std::optional{hpo::to_text(*failure.cause)} : std::nullopt,
        valid_utf8(failure.evidence), valid_utf8(failure.message), valid_utf8(failure.type), failure.code, failure.signal,
        failure.exit_status, valid_utf8(failure.where), valid_utf8(failure.traceback), failure.requested_bytes, memory.allocated,
        memory.reserved, memory.free, memory.capacity, memory.limit, memory.peak_allocated, memory.peak_reserved,
        neighbours_text(memory.neighbours));
}

void write_mark(Connection& connection, std::int64_t trial_id, int attempt, const MemoryMark& mark) {
    const MemoryReading& reading = mark.reading;
    connection.run(
        "INSERT INTO hpo_memory (trial_id, attempt, name, seconds, step, allocated_bytes, reserved_bytes, free_bytes, capacity_bytes, "
        "limit_bytes, peak_allocated_bytes, peak_reserved_bytes, neighbours) "
        "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 WHERE NOT EXISTS "
        "(SELECT 1 FROM hpo_memory WHERE trial_id = ?1 AND attempt = ?2 AND name = ?3 AND seconds IS ?4 AND step IS ?5)",
        trial_id, attempt, valid_utf8(mark.name), mark.seconds, mark.step, reading.allocated, reading.reserved, reading.free,
        reading.capacity, reading.limit, reading.peak_allocated, reading.peak_reserved, neighbours_text(reading.neighbours));
}

void write_attempt(Connection& connection, std::int64_t trial_id, const Attempt& attempt) {
    std::apply(
        [&](const auto&... planned) {
            connection.run(attempt_upsert(), trial_id, attempt.index,
                           attempt.outcome ? std::optional{to_text(*attempt.outcome)} : std::nullopt, valid_utf8(attempt.decision),
                           maybe_time_text(attempt.started), attempt.seconds, attempt.worker_pid, attempt.approximate,
                           attempt.changed_params ? std::optional{params_text(*attempt.changed_params)} : std::nullopt,
                           attempt.peak_allocated, attempt.peak_reserved, attempt.fresh_worker, attempt.resumed_step,
                           attempt.checkpoint_step, known_text(attempt.device_name), known_text(attempt.model_family), planned...);
        },
        planned_values(attempt));
    if (attempt.failure) write_failure(connection, trial_id, attempt.index, *attempt.failure);
    for (const MemoryMark& mark : attempt.memory) write_mark(connection, trial_id, attempt.index, mark);
    for (const auto& [step, value] : attempt.reports) {
        connection.run("INSERT OR REPLACE INTO hpo_attempt_reports (trial_id, attempt, step, value) VALUES (?1, ?2, ?3, ?4)", trial_id,
                       attempt.index, step, value);
    }
}

void write_rejection(Connection& connection, std::int64_t study_id, const Rejection& rejection) {
    static const std::string sql = insert_with_planned("hpo_rejections", rejection_columns);
    std::apply(
        [&](const auto&... planned) {
            connection.run(sql.c_str(), study_id, time_text(rejection.at), valid_utf8(rejection.reason), rejection.violation,
                           params_text(rejection.params), planned...);
        },
        planned_values(rejection));
}

}  // namespace hpo::store
