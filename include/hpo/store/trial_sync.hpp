// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/trial_reading.hpp"

namespace hpo::store {

/// Keeps callers' lists of trials up to what a file holds, reading only what may have changed: trials that are new, and
/// trials of others that were unfinished last time.
class TrialSync {
public:
    /// What must be equal to the last time for nothing to be done.
    struct Version {
        std::int64_t of_others = -1;  ///< Connection::data_version
        std::uint64_t own = 0;
        friend bool operator==(const Version&, const Version&) = default;
    };

    [[nodiscard]] bool is_current(std::int64_t study_id, const std::vector<Trial>& trials, const Version& version) const {
        const auto seen = seen_.find({&trials, study_id});
        return !trials.empty() && seen != seen_.end() && seen->second.version == version;
    }

    /// `is_own` tells the running trials that only the caller may change; they stay as they stand in `trials`. True when a trial
    /// was read.
    bool bring_up(TrialReader& reader, Connection& connection, std::int64_t study_id, std::vector<Trial>& trials, const Version& version,
                  const std::function<bool(std::int64_t)>& is_own);

private:
    struct Seen {
        Version version;
        std::int64_t last_id = -1;
        std::vector<std::int64_t> open;  ///< unfinished trials of others, ascending
    };

    static Trial* find(std::vector<Trial>& trials, std::int64_t id);
    /// The trials with these ids (ascending), in one query for each stretch of neighbouring ids.
    static std::vector<Trial> load(TrialReader& reader, std::int64_t study_id, const std::vector<std::int64_t>& ids);
    static void merge(std::vector<Trial>& trials, std::vector<Trial> loaded);

    /// By the list's address: a list that moved is read anew, which costs time and nothing else.
    std::map<std::pair<const void*, std::int64_t>, Seen> seen_;
};

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/trial_sync_inl.hpp"
#endif
