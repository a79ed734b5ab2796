// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/attempt_reading.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/memory_leak.hpp"
#include "hpo/store/sqlite/attempt_rows.hpp"
#include "hpo/store/sqlite/stored_time.hpp"
#include "store/sqlite/record_columns.hpp"

namespace hpo::store {

Trial* TrialCursor::seek(std::int64_t id) {
    for (int tries = 0; tries < 2 && at_ < trials_.size(); ++tries, ++at_) {
        if (trials_[at_].id == id) return &trials_[at_];
    }
    const auto found =
        std::lower_bound(trials_.begin(), trials_.end(), id, [](const Trial& trial, std::int64_t wanted) { return trial.id < wanted; });
    at_ = static_cast<std::size_t>(found - trials_.begin());
    return found != trials_.end() && found->id == id ? &*found : nullptr;
}

std::span<Trial> dense_stretch(std::span<Trial> trials) {
    constexpr std::int64_t ids_per_trial = 2;
    std::size_t size = 1;
    while (size < trials.size() && trials[size].id - trials[0].id <= ids_per_trial * static_cast<std::int64_t>(size)) ++size;
    return trials.first(size);
}

Attempt* attempt_of(Trial& trial, std::int64_t index) {
    for (Attempt& attempt : trial.attempts) {
        if (attempt.index == index) return &attempt;
    }
    return nullptr;
}

void read_attempts(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions,
                   WholeAttempts which) {
    const std::string place = connection.place() + "hpo_attempts";
    /// The rows of a table of attempts. With a failure only: of trials that have one.
    const auto rows_of = [&](const RecordTable& table, const char* order) {
        const bool all = which == WholeAttempts::all;
        return connection.kept(
            "SELECT " + table.selection(connection, "a") + " FROM " + table.name + " a WHERE a.trial_id BETWEEN ?1 AND ?2" +
            (all ? "" : " AND EXISTS (SELECT 1 FROM hpo_failures f WHERE f.trial_id = a.trial_id)") + " ORDER BY a.trial_id, " + order);
    };
    const auto each = [&](const RecordTable& table, const char* order, auto&& take) {
        each_row(connection, study_id, trials, table.name, rows_of(table, order), take);
    };
    each(attempts_table(), "a.attempt", [&](Trial& trial, const Rows& row) {
        RecordReader{row, 1, place, &distributions}.read(trial.attempts.emplace_back());
    });
    each(failures_table(), "a.attempt", [](Trial& trial, const Rows& row) {
        if (Attempt* attempt = attempt_of(trial, row.integer(1))) RecordReader{row, 2}.read(attempt->failure.emplace());
    });
    each(memory_table(), "a.mark_id", [](Trial& trial, const Rows& row) {
        if (Attempt* attempt = attempt_of(trial, row.integer(1))) RecordReader{row, 2}.read(attempt->memory.emplace_back());
    });
}

void read_attempt_reports(Connection& connection, std::int64_t study_id, std::span<Trial> trials) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    each_row(connection, study_id, trials, "hpo_attempt_reports",
             "SELECT trial_id, attempt, step, value FROM hpo_attempt_reports WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id, attempt, "
             "step",
             [&](Trial& trial, const Rows& row) {
                 if (Attempt* attempt = attempt_of(trial, row.integer(1))) attempt->reports[row.integer(2)] = row.real(3).value_or(unknown);
             });
}

void read_attempts_in_brief(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions) {
    read_attempts(connection, study_id, trials, distributions, WholeAttempts::of_trials_with_failures);
    // Not what is JSON, nor what else only a page of one trial shows.
    std::vector<std::string_view> wanted{
        "attempt",     "outcome",         "seconds",         "worker_pid",    "peak_allocated_bytes", "peak_reserved_bytes",
        "device_name", "predicted_bytes", "estimate_source", "capacity_bytes"};
    each_plan_field([&](const auto& field) { wanted.push_back(field.key); });
    const char* const sql = connection.kept("SELECT " + attempts_table().selection(connection, "a", wanted) +
                                            " FROM hpo_attempts a WHERE a.trial_id BETWEEN ?1 AND ?2 AND NOT EXISTS (SELECT 1 FROM "
                                            "hpo_failures f WHERE f.trial_id = a.trial_id) ORDER BY a.trial_id, a.attempt");
    each_row(connection, study_id, trials, "hpo_attempts", sql, [](Trial& trial, const Rows& row) {
        RecordReader{row, 1}.read(trial.attempts.emplace_back());
    });
    static_assert(least_held == 1048576, "the number in the statement");
    each_row(connection, study_id, trials, "hpo_memory",
             "SELECT m.trial_id, m.attempt, m.allocated_bytes, m.capacity_bytes, m.name FROM hpo_memory m "
             "WHERE m.trial_id BETWEEN ?1 AND ?2 AND NOT EXISTS (SELECT 1 FROM hpo_failures f WHERE f.trial_id = m.trial_id) "
             "AND (m.name = 'trial_start' OR (m.name = 'end' AND m.allocated_bytes > 1048576)) ORDER BY m.trial_id, m.attempt",
             [&](Trial& trial, const Rows& row) {
                 Attempt* attempt = attempt_of(trial, row.integer(1));
                 if (!attempt) return;
                 MemoryMark& mark = attempt->memory.emplace_back();
                 mark.name = row.text(4);
                 mark.reading.allocated = row.maybe_integer(2);
                 mark.reading.capacity = row.maybe_integer(3);
             });
}

std::vector<Rejection> read_rejections(Connection& connection, std::int64_t study_id, DistributionCache& distributions) {
    std::vector<Rejection> rejections;
    const std::string place = connection.place() + "hpo_rejections";
    const char* const sql = connection.kept("SELECT " + rejections_table().selection(connection, "r") +
                                            " FROM hpo_rejections r WHERE r.study_id = ?1 ORDER BY r.rejection_id");
    Rows row = connection.query(sql, study_id);
    while (row.next()) RecordReader{row, 1, place, &distributions}.read(rejections.emplace_back());
    return rejections;
}

}  // namespace hpo::store
