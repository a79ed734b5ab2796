// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/trial_sync.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace hpo::store {

bool TrialSync::bring_up(TrialReader& reader, Connection& connection, std::int64_t study_id, std::vector<Trial>& trials,
                         const Version& version, const std::function<bool(std::int64_t)>& is_own) {
    Seen& seen = seen_[{&trials, study_id}];
    if (trials.empty()) seen = {};
    std::vector<std::int64_t> ids = seen.open;  // what is remembered changes only once all was read: a read that failed is tried again
    {
        Rows row =
            connection.query("SELECT trial_id FROM trials WHERE study_id = ?1 AND trial_id > ?2 ORDER BY trial_id", study_id, seen.last_id);
        while (row.next()) ids.push_back(row.integer(0));
    }
    std::vector<std::int64_t> wanted;
    for (const std::int64_t id : ids) {
        const Trial* present = find(trials, id);
        if (!present || !(is_finished(present->state) || is_own(id))) wanted.push_back(id);
    }
    if (trials.empty()) trials = reader.trials({study_id});
    else merge(trials, load(reader, study_id, wanted));
    if (!ids.empty()) seen.last_id = std::max(seen.last_id, ids.back());
    seen.open.clear();
    for (const std::int64_t id : ids) {
        const Trial* present = find(trials, id);
        if (present && !is_finished(present->state) && !is_own(id)) seen.open.push_back(id);
    }
    seen.version = version;
    return !wanted.empty();
}

Trial* TrialSync::find(std::vector<Trial>& trials, std::int64_t id) {
    const auto at = std::lower_bound(trials.begin(), trials.end(), id, [](const Trial& trial, std::int64_t key) { return trial.id < key; });
    return at != trials.end() && at->id == id ? &*at : nullptr;
}

std::vector<Trial> TrialSync::load(TrialReader& reader, std::int64_t study_id, const std::vector<std::int64_t>& ids) {
    constexpr std::int64_t gap = 64;
    std::vector<Trial> loaded;
    for (std::size_t begin = 0; begin < ids.size();) {
        std::size_t end = begin + 1;
        while (end < ids.size() && ids[end] - ids[end - 1] <= gap) ++end;
        for (Trial& trial : reader.trials({study_id, ids[begin], ids[end - 1]})) {
            if (std::binary_search(ids.begin(), ids.end(), trial.id)) loaded.push_back(std::move(trial));
        }
        begin = end;
    }
    return loaded;
}

void TrialSync::merge(std::vector<Trial>& trials, std::vector<Trial> loaded) {
    const auto old_size = static_cast<std::ptrdiff_t>(trials.size());
    std::vector<Trial> added;
    for (Trial& trial : loaded) {
        if (Trial* present = find(trials, trial.id)) *present = std::move(trial);
        else added.push_back(std::move(trial));
    }
    std::move(added.begin(), added.end(), std::back_inserter(trials));
    std::inplace_merge(trials.begin(), trials.begin() + old_size, trials.end(), [](const Trial& a, const Trial& b) { return a.id < b.id; });
}

}  // namespace hpo::store
