// SPDX-License-Identifier: MIT
#include "store/attempts_of_other_studies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/store/sqlite/attempt_reading.hpp"
#include "hpo/store/sqlite/attempt_rows.hpp"

namespace hpo::store {

std::vector<Attempt> read_attempts_of_other_studies(Connection& connection, std::int64_t study_id, const std::string& device_name,
                                                    std::size_t most) {
    static const std::string sql =
        "SELECT " + columns_with_planned(attempt_columns, "a.") +
        " FROM hpo_attempts a JOIN trials t ON t.trial_id = a.trial_id WHERE t.study_id <> ?1 AND a.device_name = ?2 AND "
        "a.outcome IS NOT NULL AND a.predicted_bytes IS NOT NULL ORDER BY a.started_at DESC, a.trial_id DESC, a.attempt DESC LIMIT "
        "?3";
    std::vector<std::pair<std::int64_t, Attempt>> latest;  // with the ids of their trials
    Rows row = connection.query(sql.c_str(), study_id, device_name, static_cast<std::int64_t>(most));
    while (row.next()) {
        try {
            latest.emplace_back(row.integer(0), read_attempt(row));
        } catch (const UnreadableColumn&) {  // belongs to another study, so an unreadable row is only skipped
        }
    }
    std::reverse(latest.begin(), latest.end());
    std::vector<Attempt> attempts;
    attempts.reserve(latest.size());
    for (auto& [trial_id, attempt] : latest) {
        Rows marks = connection.query(
            "SELECT name, allocated_bytes FROM hpo_memory WHERE trial_id = ?1 AND attempt = ?2 AND (name = 'trial_start' OR name = 'end') "
            "AND allocated_bytes > 0 ORDER BY mark_id",
            trial_id, attempt.index);
        while (marks.next()) {  // the attempt may not have required what its process held before or after it
            MemoryMark& mark = attempt.memory.emplace_back();
            mark.name = marks.text(0);
            mark.reading.allocated = marks.maybe_integer(1);
        }
        if (attempt.outcome == OutcomeKind::failed) {
            Rows failed = connection.query(
                "SELECT kind, cause, evidence, message, exception_type, cuda_error_code, signal, exit_status, phase, traceback, "
                "requested_bytes, allocated_bytes, reserved_bytes, free_bytes, capacity_bytes, limit_bytes, peak_allocated_bytes, "
                "peak_reserved_bytes, neighbours FROM hpo_failures WHERE trial_id = ?1 AND attempt = ?2",
                trial_id, attempt.index);
            try {
                if (failed.next()) attempt.failure = read_failure(failed, 0);
            } catch (const UnreadableColumn&) {
                continue;
            }
        }
        attempts.push_back(std::move(attempt));
    }
    return attempts;
}

}  // namespace hpo::store
