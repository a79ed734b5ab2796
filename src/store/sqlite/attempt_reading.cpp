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
#include "store/sqlite/plan_columns.hpp"

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

namespace {

/// Reads what the guard planned for an attempt or a rejection, from the columns from `first` on.
template <class Record>
void read_planned(const Rows& row, int first, Record& record) {
    record.estimate = read_estimate(row, first);
    record.capacity_bytes = row.maybe_integer(first + 6);
    record.plan = read_plan(row, first + static_cast<int>(planned_columns.size()));
}

/// The same without the estimate's parts, which are JSON, and what else only a page of one trial shows.
void read_planned_in_brief(const Rows& row, int first, Attempt& attempt) {
    if (!row.is_null(first + 2)) {
        Estimate& estimate = attempt.estimate.emplace();
        estimate.need = row.maybe_integer(first);
        estimate.source = row.text(first + 2);
    }
    attempt.capacity_bytes = row.maybe_integer(first + 6);
    attempt.plan = read_plan(row, first + static_cast<int>(planned_columns.size()));
}

}  // namespace

Attempt read_attempt(const Rows& row) {
    Attempt attempt;
    attempt.index = static_cast<int>(row.integer(1));
    attempt.outcome = outcome_kind(row.text(2));
    attempt.decision = row.text(3);
    attempt.started = parse_time(row.text(4));
    attempt.seconds = row.real(5);
    attempt.worker_pid = row.integer(6);
    attempt.approximate = row.integer(7) != 0;
    attempt.peak_allocated = row.maybe_integer(9);
    attempt.peak_reserved = row.maybe_integer(10);
    attempt.fresh_worker = row.integer(11) != 0;
    attempt.resumed_step = row.maybe_integer(12);
    attempt.checkpoint_step = row.maybe_integer(13);
    attempt.device_name = row.text(14);
    attempt.model_family = row.text(15);
    read_planned(row, attempt_columns.size(), attempt);
    return attempt;
}

Failure read_failure(const Rows& row, int first) {
    Failure failure;
    const auto kind = failure_kind(row.text_view(first));
    if (!kind) {
        std::string names;
        for (const std::string_view name : failure_kind_names) names += (names.empty() ? "one of " : ", ") + std::string{name};
        row.refuse(first, names);
    }
    failure.kind = *kind;
    failure.cause = oom_cause(row.text(first + 1));
    failure.evidence = row.text(first + 2);
    failure.message = row.text(first + 3);
    failure.type = row.text(first + 4);
    failure.code = row.maybe_integer(first + 5);
    if (const auto number = row.maybe_integer(first + 6)) failure.signal = static_cast<int>(*number);
    if (const auto status = row.maybe_integer(first + 7)) failure.exit_status = static_cast<int>(*status);
    failure.where = row.text(first + 8);
    failure.traceback = row.text(first + 9);
    failure.requested_bytes = row.maybe_integer(first + 10);
    failure.memory = read_memory(row, first + 11);
    return failure;
}

const char* attempts_query(WholeAttempts which) {
    const auto made = [](const char* more) {
        return "SELECT " + columns_with_planned(attempt_columns, "a.") + " FROM hpo_attempts a WHERE a.trial_id BETWEEN ?1 AND ?2 " + more +
               " ORDER BY a.trial_id, a.attempt";
    };
    static const std::string all = made("");
    static const std::string failed = made("AND EXISTS (SELECT 1 FROM hpo_failures f WHERE f.trial_id = a.trial_id)");
    return (which == WholeAttempts::all ? all : failed).c_str();
}

void read_attempts(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions,
                   WholeAttempts which) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    const bool all = which == WholeAttempts::all;
    each_row(connection, study_id, trials, "hpo_attempts", attempts_query(which), [&](Trial& trial, const Rows& row) {
        Attempt& attempt = trial.attempts.emplace_back(read_attempt(row));
        if (const auto params = row.maybe_text(8))
            attempt.changed_params = parse_params(connection.place() + "hpo_attempts", *params, distributions);
    });
    each_row(connection, study_id, trials, "hpo_failures",
             "SELECT trial_id, attempt, kind, cause, evidence, message, exception_type, cuda_error_code, signal, exit_status, phase, "
             "traceback, requested_bytes, allocated_bytes, reserved_bytes, free_bytes, capacity_bytes, limit_bytes, peak_allocated_bytes, "
             "peak_reserved_bytes, neighbours FROM hpo_failures WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id, attempt",
             [](Trial& trial, const Rows& row) {
                 if (Attempt* attempt = attempt_of(trial, row.integer(1))) attempt->failure = read_failure(row, 2);
             });
    each_row(connection, study_id, trials, "hpo_memory",
             all ? "SELECT m.trial_id, m.attempt, m.name, m.seconds, m.step, m.allocated_bytes, m.reserved_bytes, m.free_bytes, "
                   "m.capacity_bytes, m.limit_bytes, m.peak_allocated_bytes, m.peak_reserved_bytes, m.neighbours FROM hpo_memory m "
                   "WHERE m.trial_id BETWEEN ?1 AND ?2 ORDER BY m.trial_id, m.mark_id"
                 : "SELECT m.trial_id, m.attempt, m.name, m.seconds, m.step, m.allocated_bytes, m.reserved_bytes, m.free_bytes, "
                   "m.capacity_bytes, m.limit_bytes, m.peak_allocated_bytes, m.peak_reserved_bytes, m.neighbours FROM hpo_memory m "
                   "WHERE m.trial_id BETWEEN ?1 AND ?2 AND EXISTS (SELECT 1 FROM hpo_failures f WHERE f.trial_id = m.trial_id) "
                   "ORDER BY m.trial_id, m.mark_id",
             [&](Trial& trial, const Rows& row) {
                 if (Attempt* attempt = attempt_of(trial, row.integer(1)))
                     attempt->memory.push_back({row.text(2), row.real(3).value_or(unknown), row.maybe_integer(4), read_memory(row, 5)});
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
    constexpr std::array<std::string_view, 8> columns{
        "trial_id", "attempt", "outcome", "seconds", "worker_pid", "peak_allocated_bytes", "peak_reserved_bytes", "device_name"};
    static const std::string sql =
        "SELECT " + columns_with_planned(columns, "a.") +
        " FROM hpo_attempts a "
        "WHERE a.trial_id BETWEEN ?1 AND ?2 AND NOT EXISTS (SELECT 1 FROM hpo_failures f WHERE f.trial_id = a.trial_id) "
        "ORDER BY a.trial_id, a.attempt";
    each_row(connection, study_id, trials, "hpo_attempts", sql.c_str(), [&](Trial& trial, const Rows& row) {
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.index = static_cast<int>(row.integer(1));
        attempt.outcome = outcome_kind(row.text_view(2));
        attempt.seconds = row.real(3);
        attempt.worker_pid = row.integer(4);
        attempt.peak_allocated = row.maybe_integer(5);
        attempt.peak_reserved = row.maybe_integer(6);
        attempt.device_name = row.text(7);
        read_planned_in_brief(row, columns.size(), attempt);
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
    static const std::string sql =
        "SELECT " + columns_with_planned(rejection_columns) + " FROM hpo_rejections WHERE study_id = ?1 ORDER BY rejection_id";
    Rows row = connection.query(sql.c_str(), study_id);
    while (row.next()) {
        Rejection& rejection = rejections.emplace_back();
        rejection.at = parse_time(row.text(1)).value_or(Time{});
        rejection.reason = row.text(2);
        rejection.violation = row.real(3).value_or(std::numeric_limits<double>::quiet_NaN());
        rejection.params = parse_params(connection.place() + "hpo_rejections", row.text(4), distributions);
        read_planned(row, rejection_columns.size(), rejection);
    }
    return rejections;
}

}  // namespace hpo::store
