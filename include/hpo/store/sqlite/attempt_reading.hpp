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
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"

namespace hpo::store {

/// A range of trial ids of one study. Both ends belong to it.
struct TrialRange {
    std::int64_t study_id = -1;
    std::int64_t first_id = 0;
    std::int64_t last_id = std::numeric_limits<std::int64_t>::max();
};

/// Finds trials that are ordered by id. It is fastest for rows of the same trial or of the next one.
class TrialCursor {
public:
    explicit TrialCursor(std::span<Trial> trials) : trials_{trials} {}
    /// The trial with this id, or null.
    Trial* seek(std::int64_t id);

private:
    std::span<Trial> trials_;
    std::size_t at_ = 0;
};

/// The longest first part of `trials` that has at least every second id between its ends. So few rows of other studies lie between its
/// rows. `trials` are ordered by id.
[[nodiscard]] std::span<Trial> dense_stretch(std::span<Trial> trials);

/// Calls `take(trial, row)` for each row of a query that belongs to one of `trials`, which are ordered by id. The query's first column is
/// the trial id, and it selects the ids from ?1 to ?2. Throws Error{Errc::store} that names study, trial, `table` and column if a value
/// cannot be read.
///
/// Design note: it asks the query once for each dense stretch of the trials. A join with the table of trials would return only the study's
/// rows, but it takes several times as long.
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

/// Which attempts are read with all their columns.
enum class WholeAttempts { all, of_trials_with_failures };

/// Fills the attempts of `trials`, which belong to one study and are ordered by id. Call it inside Connection::read or write.
void read_attempts(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions,
                   WholeAttempts which = WholeAttempts::all);

/// Fills the superseded reports of attempts.
void read_attempt_reports(Connection& connection, std::int64_t study_id, std::span<Trial> trials);

/// As read_attempts, but reads less for trials without a failure: only how their attempts ended, their peaks and predictions, the plan, the
/// device, and the memory that was held before and after them.
void read_attempts_in_brief(Connection& connection, std::int64_t study_id, std::span<Trial> trials, DistributionCache& distributions);

[[nodiscard]] std::vector<Rejection> read_rejections(Connection& connection, std::int64_t study_id, DistributionCache& distributions);

}  // namespace hpo::store
