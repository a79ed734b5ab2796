// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/distribution_json.hpp"
#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

/// A range of trial ids of one study, ends included.
struct TrialRange {
    std::int64_t study_id = -1;
    std::int64_t first_id = 0;
    std::int64_t last_id = std::numeric_limits<std::int64_t>::max();
};

/// Finds trials that are ordered by id; fastest for rows of the same trial, or of the next one.
class TrialCursor {
public:
    explicit TrialCursor(std::span<Trial> trials) : trials_{trials} {}
    /// The trial with this id, or null.
    Trial* seek(std::int64_t id);

private:
    std::span<Trial> trials_;
    std::size_t at_ = 0;
};

/// The first trials of which at least every second id between their ends is one of theirs: few rows of other studies lie among their
/// rows. `trials` are ordered by id.
[[nodiscard]] std::span<Trial> dense_stretch(std::span<Trial> trials);

/// Calls `take(trial, row)` for each row of a query that begins with a trial id, of trials with ids from ?1 to ?2; for `trials`, which are
/// ordered by id. Throws Error{Errc::store} that names study, trial, `table` and column for what cannot be read.
///
/// Design note: the query is asked once for each stretch of the trials. A join with the table of trials, which would tell the study's rows
/// from others, takes several times as long.
template <class Take>
void each_row(Connection& connection, std::int64_t study_id, std::span<Trial> trials, std::string_view table, const char* sql,
              Take&& take) {
    while (!trials.empty()) {
        const std::span<Trial> stretch = dense_stretch(trials);
        trials = trials.subspan(stretch.size());
        TrialCursor cursor{stretch};
        Rows row = connection.query(sql, stretch.front().id, stretch.back().id);
        while (row.next()) {
            Trial* trial = cursor.seek(row.integer(0));
            if (!trial) continue;
            try {
                take(*trial, row);
            } catch (const UnreadableColumn& error) {
                Rows study = connection.query("SELECT study_name FROM studies WHERE study_id = ?1", study_id);
                const std::string name = study.next() ? study.text(0) : std::to_string(study_id);
                throw Error{error.code(), connection.place() + "study '" + name + "', trial " + std::to_string(trial->number) + ": " +
                                              std::string{table} + "." + error.what()};
            }
        }
    }
}

[[nodiscard]] Attempt* attempt_of(Trial& trial, std::int64_t index);

/// An attempt from a row of each_attempt_column; its changed parameters stay to be read.
[[nodiscard]] Attempt read_attempt(const Rows& row);

/// 19 columns from `first`: kind, cause, evidence, message, exception type, code, signal, exit status, phase, traceback, requested bytes,
/// and those of a reading.
[[nodiscard]] Failure read_failure(const Rows& row, int first);

/// Which attempts are read whole.
enum class WholeAttempts { all, of_trials_with_failures };

/// The SELECT of every column of attempt_columns and of the plan.
[[nodiscard]] const char* attempts_query(WholeAttempts which);

/// Fills the attempts of `trials`, which are of one study and ordered by id. Belongs inside Connection::read or write.
void read_attempts(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions,
                   WholeAttempts which = WholeAttempts::all);

/// Fills the reports that attempts superseded.
void read_attempt_reports(Connection& connection, std::int64_t study_id, std::span<Trial> trials);

/// As read_attempts. Of trials without a failure only how their attempts ended, what they took, what was predicted, the plan, and what was
/// held before and after them.
void read_attempts_in_brief(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions);

[[nodiscard]] std::vector<Rejection> read_rejections(Connection& connection, std::int64_t study_id, DistributionCache& distributions);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/attempt_reading_inl.hpp"
#endif
