// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/trial_reading.hpp"

namespace hpo::store {

/// Keeps callers' lists of trials up to date with a file. It reads only what may have changed: new trials, and trials of other processes
/// that were unfinished last time.
class TrialSync {
public:
    /// The version of a file. If it is the same as last time, there is nothing to read.
    struct Version {
        std::int64_t of_others = -1;  ///< Connection::data_version
        std::uint64_t own = 0;
        friend bool operator==(const Version&, const Version&) = default;
    };

    [[nodiscard]] bool is_current(std::int64_t study_id, const std::vector<Trial>& trials, const Version& version) const {
        const auto seen = seen_.find({&trials, study_id});
        return !trials.empty() && seen != seen_.end() && seen->second.version == version;
    }

    /// Brings `trials` up to date. Returns true if a trial was read. `is_own` is true for running trials that only the caller may change.
    /// They do not change in `trials`.
    bool bring_up(TrialReader& reader, Connection& connection, std::int64_t study_id, std::vector<Trial>& trials, const Version& version,
                  const std::function<bool(std::int64_t)>& is_own);

private:
    struct Seen {
        Version version;
        std::int64_t last_id = -1;
        std::vector<std::int64_t> open;  ///< unfinished trials of other processes, ascending
    };

    static Trial* find(std::vector<Trial>& trials, std::int64_t id);
    /// The trials with these ids (ascending), in one query for each stretch of neighbouring ids.
    static std::vector<Trial> load(TrialReader& reader, std::int64_t study_id, const std::vector<std::int64_t>& ids);
    static void merge(std::vector<Trial>& trials, std::vector<Trial> loaded);

    /// By the list's address. If a list has moved, it is read again, which only costs time.
    std::map<std::pair<const void*, std::int64_t>, Seen> seen_;
};

}  // namespace hpo::store
