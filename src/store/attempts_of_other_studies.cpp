// SPDX-License-Identifier: MIT
#include "store/attempts_of_other_studies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/sqlite/record_columns.hpp"

namespace hpo::store {

std::vector<Attempt> read_attempts_of_other_studies(Connection& connection, std::int64_t study_id, const std::string& device_name,
                                                    std::size_t most) {
    const char* const sql = connection.kept(
        "SELECT " + attempts_table().selection(connection, "a") +
        " FROM hpo_attempts a JOIN trials t ON t.trial_id = a.trial_id WHERE t.study_id <> ?1 AND a.device_name = ?2 AND "
        "a.outcome IS NOT NULL AND a.predicted_bytes IS NOT NULL ORDER BY a.started_at DESC, a.trial_id DESC, a.attempt DESC LIMIT ?3");
    std::vector<std::pair<std::int64_t, Attempt>> latest;  // with the ids of their trials
    Rows row = connection.query(sql, study_id, device_name, static_cast<std::int64_t>(most));
    while (row.next()) {
        try {
            Attempt attempt;
            RecordReader{row, 1}.read(attempt);
            latest.emplace_back(row.integer(0), std::move(attempt));
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
            Rows failed = connection.query(connection.kept("SELECT " + failures_table().selection(connection, "f") +
                                                           " FROM hpo_failures f WHERE f.trial_id = ?1 AND f.attempt = ?2"),
                                           trial_id, attempt.index);
            try {
                if (failed.next()) RecordReader{failed, 2}.read(attempt.failure.emplace());
            } catch (const UnreadableColumn&) {
                continue;
            }
        }
        attempts.push_back(std::move(attempt));
    }
    return attempts;
}

}  // namespace hpo::store
