// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/trial_count.hpp"

#include <cstdint>
#include <optional>

#include "hpo/store/lost_trials.hpp"

namespace hpo::store {

std::int64_t TrialCount::done(Connection& connection, const OptunaShape& shape, std::int64_t study_id) {
    constexpr const char* of_all =
        "SELECT t.trial_id, t.state IN ('COMPLETE', 'PRUNED', 'FAIL'), t.state = 'FAIL' AND EXISTS (SELECT 1 FROM "
        "trial_user_attributes a WHERE a.trial_id = t.trial_id AND a.\"key\" = 'lost' AND a.value_json = 'true') "
        "FROM trials t WHERE t.study_id = ?1 AND t.trial_id > ?2 ORDER BY t.trial_id";
    constexpr const char* of_shown =
        "SELECT t.trial_id, t.state IN ('COMPLETE', 'PRUNED', 'FAIL'), t.state = 'FAIL' AND EXISTS (SELECT 1 FROM "
        "trial_user_attributes a WHERE a.trial_id = t.trial_id AND a.\"key\" = 'lost' AND a.value_json = 'true') "
        "FROM trials t WHERE t.study_id = ?1 AND t.trial_id > ?2 AND t.discarded_at IS NULL ORDER BY t.trial_id";
    static_assert(lost_attribute == "lost" && lost_json == "true");
    Rows row = connection.query(shape.has_discarded ? of_shown : of_all, study_id, passed_);
    std::int64_t all = done_;
    bool unbroken = true;
    while (row.next()) {
        const bool finished = row.integer(1) != 0;
        if (finished && row.integer(2) == 0) ++all;
        unbroken = unbroken && finished;
        if (!unbroken) continue;
        passed_ = row.integer(0);
        done_ = all;
    }
    return all;
}

std::int64_t TrialCount::running_in_other_runs(Connection& connection, std::int64_t study_id, std::optional<std::int64_t> run_id,
                                               double grace_seconds, RunWatch& watch) const {
    std::int64_t count = 0;
    for (const auto& [id, busy] : busy_runs(connection, study_id, passed_)) {
        if (id == run_id || watch.is_gone(busy.run, grace_seconds)) continue;
        count += static_cast<std::int64_t>(busy.trial_ids.size());
    }
    return count;
}

}  // namespace hpo::store
