// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/time.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/store.hpp"
#include "hpo/store/store_rules.hpp"

namespace hpo::store {

/// The runs of a store in memory, numbered from 1.
class InMemoryRuns {
public:
    Run begin(std::int64_t study_id, Run run) {
        run = identified(std::move(run));
        run.id = static_cast<std::int64_t>(runs_.size()) + 1;
        run.started = run.heartbeat = now();
        runs_.push_back({run, study_id});
        return run;
    }
    void heartbeat(const Run& run) {
        if (Run* found = find(run.id)) found->heartbeat = now();
    }
    void end(const Run& run) {
        if (Run* found = find(run.id)) found->ended = now();
    }
    /// The run of this id. Null if there is none, or if its study was deleted.
    [[nodiscard]] Run* find(std::int64_t run_id) {
        if (run_id < 1 || static_cast<std::size_t>(run_id) > runs_.size()) return nullptr;
        Owned& run = runs_[static_cast<std::size_t>(run_id - 1)];
        return run.study_id < 0 ? nullptr : &run.run;
    }
    void delete_study(std::int64_t study_id) {
        for (Owned& run : runs_) {
            if (run.study_id == study_id) run = {};
        }
    }

private:
    struct Owned {
        Run run;
        std::int64_t study_id = -1;  ///< -1 if the study was deleted
    };
    std::vector<Owned> runs_;
};

/// Studies that live and die with this object.
class InMemory : public Store {
public:
    Study open_study(const std::string& name, std::span<const Direction> directions, Open mode) override;
    [[nodiscard]] std::vector<Study> studies() override;
    void delete_study(std::int64_t study_id) override;
    void set_study_user_attribute(std::int64_t study_id, const std::string& key, const std::string& json) override {
        of(study_id).study.user_attributes[key] = json;
    }
    void set_study_system_attribute(std::int64_t study_id, const std::string& key, const std::string& json) override {
        of(study_id).study.system_attributes[key] = json;
    }

    bool refresh(std::int64_t study_id, std::vector<Trial>& trials) override;
    [[nodiscard]] std::vector<Rejection> rejections(std::int64_t study_id) override { return of(study_id).rejections; }
    [[nodiscard]] std::vector<Attempt> attempts_of_other_studies(std::int64_t study_id, const std::string& device_name,
                                                                 std::size_t most) override;

    Trial begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) override;
    std::optional<Trial> begin_trial_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota) override {
        if (!has_room(of(study_id), run_id, quota)) return std::nullopt;
        return begin_trial(study_id, run_id);
    }
    std::optional<Trial> begin_retry_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota,
                                            const Trial& lost, std::optional<std::int64_t> last_kept) override;
    using Store::enqueue;
    Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed,
                  const Attributes& system_attributes) override;
    void set_params(const Trial& trial) override {
        Trial& stored = own(trial);
        stored.params = trial.params;
    }
    void begin_attempt(const Trial& trial, const Attempt& attempt) override;
    void end_attempt(const Trial& trial, const Attempt& attempt) override;
    void report(const Trial& trial, const Report& report) override { own(trial).intermediate[report.step] = report.value; }
    void restart_reports(const Trial& trial, const Attempt& superseded, std::optional<std::int64_t> last_kept) override;
    void memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) override;
    void keep_log(const Trial& trial, int attempt, const std::string& text) override {
        static_cast<void>(own_attempt(trial, attempt));
        logs_[{trial.id, attempt}] = text;
    }
    void add_to_log(const Trial& trial, int attempt, const std::string& text) override;
    [[nodiscard]] std::string log(const Trial& trial, int attempt) override {
        const auto found = logs_.find({trial.id, attempt});
        return found == logs_.end() ? std::string{} : found->second;
    }
    void finish(const Trial& trial) override;
    void reject(std::int64_t study_id, const Rejection& rejection) override { of(study_id).rejections.push_back(rejection); }

    Run begin_run(std::int64_t study_id, Run run) override {
        (void)of(study_id);
        return runs_.begin(study_id, std::move(run));
    }
    void heartbeat(const Run& run) override { runs_.heartbeat(run); }
    void end_run(const Run& run) override { runs_.end(run); }
    std::size_t settle_lost_trials(std::int64_t study_id, double grace_seconds) override;

private:
    static constexpr std::string_view place = "store in memory";
    struct Kept {
        Study study;
        std::vector<Trial> trials;
        std::vector<Rejection> rejections;
        std::size_t first_waiting = 0;  ///< no trial before this one waits
        std::size_t first_open = 0;     ///< all trials before this one have finished
        std::int64_t done_before_open = 0;
        std::uint64_t changes = 1;  ///< counts changes that a caller cannot know of by itself
        [[nodiscard]] bool is_deleted() const { return study.id < 0; }
    };
    struct Place {
        std::int64_t study_id = -1;  ///< -1 if the study was deleted
        std::size_t index = 0;       ///< among the study's trials
        bool has_owner = false;      ///< true if a process runs the trial
        std::optional<std::int64_t> run_id;
    };
    struct Seen {
        const void* trials = nullptr;
        std::int64_t study_id = -1;
        std::uint64_t changes = 0;
    };

    static std::size_t index_of(std::int64_t id) { return static_cast<std::size_t>(id - 1); }
    std::uint64_t& changes_seen_by(const std::vector<Trial>& trials, std::int64_t study_id);

    Kept& of(std::int64_t study_id);
    bool has_room(Kept& kept, std::optional<std::int64_t> run_id, const Quota& quota);
    Trial& add(Kept& kept);
    Trial& own(const Trial& trial);

    Attempt& own_attempt(const Trial& trial, int index);

    std::vector<Kept> studies_;  ///< by study id, from 1
    std::vector<Place> places_;  ///< by trial id, from 1
    InMemoryRuns runs_;
    std::vector<Seen> seen_;                                    ///< how far each refreshed vector is up to date
    std::map<std::pair<std::int64_t, int>, std::string> logs_;  ///< by trial id and attempt
};

inline Study InMemory::open_study(const std::string& name, std::span<const Direction> directions, Open mode) {
    std::vector<std::string> names;
    for (Kept& kept : studies_) {
        if (kept.is_deleted()) continue;
        if (kept.study.name == name) {
            if (mode == Open::create) throw study_exists(place, name);
            require_same_directions(place, kept.study, directions);
            return kept.study;
        }
        names.push_back(kept.study.name);
    }
    if (mode == Open::resume) throw unknown_name(place, "study", name, names);
    require_new_study(place, name, directions);
    Study study;
    study.id = static_cast<std::int64_t>(studies_.size()) + 1;
    study.name = name;
    study.directions.assign(directions.begin(), directions.end());
    studies_.emplace_back().study = study;
    return study;
}

inline std::vector<Study> InMemory::studies() {
    std::vector<Study> all;
    for (const Kept& kept : studies_) {
        if (!kept.is_deleted()) all.push_back(kept.study);
    }
    return all;
}

inline void InMemory::delete_study(std::int64_t study_id) {
    for (const Trial& trial : of(study_id).trials) {
        places_[index_of(trial.id)] = {};
        logs_.erase(logs_.lower_bound({trial.id, 0}), logs_.lower_bound({trial.id + 1, 0}));
    }
    runs_.delete_study(study_id);
    of(study_id) = {};
}

inline bool InMemory::refresh(std::int64_t study_id, std::vector<Trial>& trials) {
    const Kept& kept = of(study_id);
    std::uint64_t& seen = changes_seen_by(trials, study_id);
    if (!trials.empty() && seen == kept.changes) return false;
    seen = kept.changes;
    if (trials.empty()) {
        trials = std::vector<Trial>(kept.trials);
        return !trials.empty();
    }
    std::vector<Trial> merged;
    merged.reserve(kept.trials.size());
    auto present = trials.begin();
    for (const Trial& stored : kept.trials) {
        while (present != trials.end() && present->number < stored.number) ++present;
        const bool is_there = present != trials.end() && present->id == stored.id;
        const bool is_current = is_there && (is_finished(present->state) || places_[index_of(stored.id)].has_owner);
        if (is_current) merged.push_back(std::move(*present));
        else merged.push_back(stored);
    }
    trials = std::move(merged);
    return true;
}

inline std::vector<Attempt> InMemory::attempts_of_other_studies(std::int64_t study_id, const std::string& device_name, std::size_t most) {
    std::vector<Attempt> found;
    for (const Kept& kept : studies_) {
        if (kept.is_deleted() || kept.study.id == study_id) continue;
        for (const Trial& trial : kept.trials) {
            for (const Attempt& attempt : trial.attempts) {
                if (attempt.device_name == device_name && attempt.outcome && attempt.estimate && attempt.estimate->need)
                    found.push_back(attempt);
            }
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const Attempt& a, const Attempt& b) { return a.started < b.started; });
    if (found.size() > most) found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(most));
    return found;
}

inline Trial InMemory::begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) {
    Kept& kept = of(study_id);
    while (kept.first_waiting < kept.trials.size() && kept.trials[kept.first_waiting].state != TrialState::waiting) ++kept.first_waiting;
    Trial& trial = kept.first_waiting < kept.trials.size() ? kept.trials[kept.first_waiting] : add(kept);
    trial.state = TrialState::running;
    trial.started = now();
    Place& kept_at = places_[index_of(trial.id)];
    kept_at.has_owner = true;
    kept_at.run_id = run_id;
    return trial;
}

inline std::optional<Trial> InMemory::begin_retry_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota,
                                                         const Trial& lost, std::optional<std::int64_t> last_kept) {
    Kept& kept = of(study_id);
    if (!has_room(kept, run_id, quota)) return std::nullopt;
    for (const Trial& trial : kept.trials) {
        if (goes_on_with(trial, lost.number)) return std::nullopt;
    }
    Trial retry = retry_of(lost, last_kept);
    Trial& trial = add(kept);
    retry.id = trial.id;
    retry.number = trial.number;
    retry.started = now();
    trial = std::move(retry);
    Place& kept_at = places_[index_of(trial.id)];
    kept_at.has_owner = true;
    kept_at.run_id = run_id;
    return trial;
}

inline Trial InMemory::enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed,
                               const Attributes& system_attributes) {
    Kept& kept = of(study_id);
    Trial& trial = add(kept);
    trial.state = TrialState::waiting;
    trial.fixed = fixed;
    trial.system_attributes = system_attributes;
    trial.system_attributes["fixed_params"] = fixed_params_text(fixed);
    ++kept.changes;
    return trial;
}

inline void InMemory::add_to_log(const Trial& trial, int attempt, const std::string& text) {
    if (attempt < 0 || static_cast<std::size_t>(attempt) >= trial.attempts.size()) throw no_attempt(place, trial, attempt);
    logs_[{trial.id, attempt}] += text;
}

inline void InMemory::begin_attempt(const Trial& trial, const Attempt& attempt) { merge_attempt(own(trial), attempt); }

inline void InMemory::end_attempt(const Trial& trial, const Attempt& attempt) { merge_attempt(own(trial), attempt); }

inline void InMemory::restart_reports(const Trial& trial, const Attempt& superseded, std::optional<std::int64_t> last_kept) {
    Trial& stored = own(trial);
    Attempt& attempt = merge_attempt(stored, superseded);
    for (const auto& [step, value] : take_superseded(stored.intermediate, last_kept)) attempt.reports[step] = value;
}

inline void InMemory::memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) { add_mark(own_attempt(trial, attempt), mark); }

inline void InMemory::finish(const Trial& trial) {
    Trial& stored = own(trial);
    require_finishable(place, trial, of(places_[index_of(trial.id)].study_id).study.directions.size());
    stored.state = trial.state;
    stored.values = trial.values;
    for (const auto& [key, json] : trial.user_attributes) stored.user_attributes[key] = json;
    for (const auto& [key, json] : trial.system_attributes) stored.system_attributes[key] = json;
    stored.constraints = trial.constraints;
    stored.completed = trial.completed ? trial.completed : now();
    places_[index_of(trial.id)].has_owner = false;
}

inline std::size_t InMemory::settle_lost_trials(std::int64_t study_id, double grace_seconds) {
    Kept& kept = of(study_id);
    std::size_t settled = 0;
    for (Trial& trial : kept.trials) {
        Place& kept_at = places_[index_of(trial.id)];
        if (trial.state != TrialState::running || !kept_at.has_owner || !kept_at.run_id) continue;
        Run* const run = runs_.find(*kept_at.run_id);
        if (!run || !is_gone(*run, now(), grace_seconds)) continue;
        run->ended = now();
        trial.state = TrialState::fail;
        trial.completed = end_of_lost(trial.started, run->heartbeat);
        trial.user_attributes[lost_attribute] = std::string{lost_json};
        for (Attempt& attempt : trial.attempts) {
            if (!attempt.outcome) mark_lost(attempt, *run);
        }
        kept_at.has_owner = false;
        ++settled;
    }
    if (settled > 0) ++kept.changes;
    return settled;
}

inline std::uint64_t& InMemory::changes_seen_by(const std::vector<Trial>& trials, std::int64_t study_id) {
    for (Seen& seen : seen_) {
        if (seen.trials == &trials && seen.study_id == study_id) return seen.changes;
    }
    seen_.push_back({&trials, study_id, 0});
    return seen_.back().changes;
}

inline InMemory::Kept& InMemory::of(std::int64_t study_id) {
    const bool is_known = study_id >= 1 && index_of(study_id) < studies_.size();
    if (!is_known || studies_[index_of(study_id)].is_deleted()) throw no_study(place, study_id);
    return studies_[index_of(study_id)];
}

inline bool InMemory::has_room(Kept& kept, std::optional<std::int64_t> run_id, const Quota& quota) {
    for (; kept.first_open < kept.trials.size() && is_finished(kept.trials[kept.first_open].state); ++kept.first_open) {
        kept.done_before_open += counts_as_done(kept.trials[kept.first_open]) ? 1 : 0;
    }
    std::int64_t counting = quota.own_running + kept.done_before_open;
    for (std::size_t i = kept.first_open; i < kept.trials.size(); ++i) {
        const Trial& trial = kept.trials[i];
        const Place& kept_at = places_[index_of(trial.id)];
        if (counts_as_done(trial)) ++counting;
        else if (trial.state == TrialState::running && kept_at.run_id && kept_at.run_id != run_id) {
            const Run* const run = runs_.find(*kept_at.run_id);
            counting += run && !is_gone(*run, now(), quota.grace_seconds) ? 1 : 0;
        }
    }
    return counting < quota.trials;
}

inline Trial& InMemory::add(Kept& kept) {
    Trial trial;
    trial.id = static_cast<std::int64_t>(places_.size()) + 1;
    trial.number = static_cast<std::int64_t>(kept.trials.size());
    places_.push_back({kept.study.id, kept.trials.size(), false, {}});
    return kept.trials.emplace_back(std::move(trial));
}

inline Trial& InMemory::own(const Trial& trial) {
    const bool is_known = trial.id >= 1 && index_of(trial.id) < places_.size();
    if (!is_known || places_[index_of(trial.id)].study_id < 0) throw trial_gone(place, trial);
    const Place& kept_at = places_[index_of(trial.id)];
    Trial& stored = of(kept_at.study_id).trials[kept_at.index];
    if (stored.state != TrialState::running) throw trial_not_running(place, trial, to_text(stored.state));
    return stored;
}

inline Attempt& InMemory::own_attempt(const Trial& trial, int index) {
    auto& attempts = own(trial).attempts;
    const auto found = std::ranges::find(attempts, index, &Attempt::index);
    if (found == attempts.end()) throw no_attempt(place, trial, index);
    return *found;
}

}  // namespace hpo::store
