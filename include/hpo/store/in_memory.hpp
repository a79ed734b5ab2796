// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/store/run_liveness.hpp"
#include "hpo/store/store.hpp"
#include "hpo/store/store_rules.hpp"

namespace hpo::store {

/// Studies that live and die with this object.
class InMemory : public Store {
public:
    Study open_study(const std::string& name, std::span<const Direction> directions, Open mode) override {
        std::vector<std::string> names;
        for (auto& [id, kept] : studies_) {
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
        study.id = ++last_study_id_;
        study.name = name;
        study.directions.assign(directions.begin(), directions.end());
        studies_[study.id].study = study;
        return study;
    }
    [[nodiscard]] std::vector<Study> studies() override {
        std::vector<Study> all;
        for (const auto& [id, kept] : studies_) all.push_back(kept.study);
        return all;
    }
    void delete_study(std::int64_t study_id) override {
        for (const Trial& trial : of(study_id).trials) {
            places_.erase(trial.id);
            owners_.erase(trial.id);
        }
        std::erase_if(runs_, [&](const auto& entry) { return entry.second.study_id == study_id; });
        studies_.erase(study_id);
    }
    void set_study_user_attribute(std::int64_t study_id, const std::string& key, const std::string& json) override {
        of(study_id).study.user_attributes[key] = json;
    }

    bool refresh(std::int64_t study_id, std::vector<Trial>& trials) override {
        const Kept& kept = of(study_id);
        auto [seen, is_new] = seen_.try_emplace({&trials, study_id}, 0);
        if (!is_new && !trials.empty() && seen->second == kept.changes) return false;
        seen->second = kept.changes;
        if (trials.empty()) {
            trials = kept.trials;
            return !trials.empty();
        }
        std::vector<Trial> merged;
        merged.reserve(kept.trials.size());
        auto present = trials.begin();
        for (const Trial& stored : kept.trials) {
            while (present != trials.end() && present->number < stored.number) ++present;
            const bool is_there = present != trials.end() && present->id == stored.id;
            const bool is_current = is_there && (is_finished(present->state) || owners_.contains(stored.id));
            merged.push_back(is_current ? std::move(*present) : stored);
        }
        trials = std::move(merged);
        return true;
    }
    [[nodiscard]] std::vector<Rejection> rejections(std::int64_t study_id) override { return of(study_id).rejections; }

    Trial begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) override {
        Kept& kept = of(study_id);
        while (kept.first_waiting < kept.trials.size() && kept.trials[kept.first_waiting].state != TrialState::waiting)
            ++kept.first_waiting;
        Trial& trial = kept.first_waiting < kept.trials.size() ? kept.trials[kept.first_waiting] : add(kept);
        trial.state = TrialState::running;
        trial.started = now();
        owners_[trial.id] = run_id;
        return trial;
    }
    Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed) override {
        Kept& kept = of(study_id);
        Trial& trial = add(kept);
        trial.state = TrialState::waiting;
        trial.fixed = fixed;
        trial.system_attributes["fixed_params"] = fixed_params_text(fixed);
        ++kept.changes;
        return trial;
    }
    void set_params(const Trial& trial) override {
        Trial& stored = own(trial);
        for (const Param& param : trial.params) stored.params.set(param);
    }
    void begin_attempt(const Trial& trial, const Attempt& attempt) override { merge_attempt(own(trial), attempt); }
    void end_attempt(const Trial& trial, const Attempt& attempt) override { merge_attempt(own(trial), attempt); }
    void report(const Trial& trial, const Report& report) override { own(trial).intermediate[report.step] = report.value; }
    void restart_reports(const Trial& trial, const Attempt& superseded) override {
        Trial& stored = own(trial);
        Attempt& attempt = merge_attempt(stored, superseded);
        for (const auto& [step, value] : stored.intermediate) attempt.reports[step] = value;
        stored.intermediate.clear();
    }
    void memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) override {
        for (Attempt& present : own(trial).attempts) {
            if (present.index == attempt) {
                add_mark(present, mark);
                return;
            }
        }
        throw no_attempt(place, trial, attempt);
    }
    void finish(const Trial& trial) override {
        Trial& stored = own(trial);
        require_finishable(place, trial, studies_.at(places_.at(trial.id).first).study.directions.size());
        stored.state = trial.state;
        stored.values = trial.values;
        for (const auto& [key, json] : trial.user_attributes) stored.user_attributes[key] = json;
        for (const auto& [key, json] : trial.system_attributes) stored.system_attributes[key] = json;
        stored.constraints = trial.constraints;
        stored.completed = trial.completed ? trial.completed : now();
        owners_.erase(trial.id);
    }
    void reject(std::int64_t study_id, const Rejection& rejection) override { of(study_id).rejections.push_back(rejection); }

    Run begin_run(std::int64_t study_id, Run run) override {
        (void)of(study_id);
        run = identified(std::move(run));
        run.id = ++last_run_id_;
        runs_[run.id] = {{run, now(), false}, study_id};
        return run;
    }
    void heartbeat(const Run& run) override {
        if (const auto found = runs_.find(run.id); found != runs_.end()) found->second.known.heartbeat = now();
    }
    void end_run(const Run& run) override {
        if (const auto found = runs_.find(run.id); found != runs_.end()) found->second.known.ended = true;
    }
    std::size_t settle_lost_trials(std::int64_t study_id, double grace_seconds) override {
        Kept& kept = of(study_id);
        std::size_t settled = 0;
        for (Trial& trial : kept.trials) {
            const auto owner = owners_.find(trial.id);
            if (trial.state != TrialState::running || owner == owners_.end() || !owner->second) continue;
            const auto run = runs_.find(*owner->second);
            if (run == runs_.end() || !is_gone(run->second.known, now(), grace_seconds)) continue;
            run->second.known.ended = true;
            trial.state = TrialState::fail;
            trial.completed = now();
            trial.user_attributes[std::string{lost_attribute}] = "true";
            for (Attempt& attempt : trial.attempts) {
                if (!attempt.outcome) mark_lost(attempt, run->second.known.run);
            }
            owners_.erase(owner);
            ++settled;
        }
        if (settled > 0) ++kept.changes;
        return settled;
    }

private:
    static constexpr std::string_view place = "store in memory";
    struct Kept {
        Study study;
        std::vector<Trial> trials;
        std::vector<Rejection> rejections;
        std::size_t first_waiting = 0;  ///< no trial before this one waits
        std::uint64_t changes = 1;      ///< that a caller cannot know of by itself
    };
    struct OwnedRun {
        KnownRun known;
        std::int64_t study_id = -1;
    };

    Kept& of(std::int64_t study_id) {
        const auto found = studies_.find(study_id);
        if (found == studies_.end()) throw no_study(place, study_id);
        return found->second;
    }
    Trial& add(Kept& kept) {
        Trial trial;
        trial.id = ++last_trial_id_;
        trial.number = static_cast<std::int64_t>(kept.trials.size());
        places_[trial.id] = {kept.study.id, kept.trials.size()};
        return kept.trials.emplace_back(std::move(trial));
    }
    Trial& own(const Trial& trial) {
        const auto found = places_.find(trial.id);
        if (found == places_.end()) throw trial_gone(place, trial);
        Trial& stored = studies_.at(found->second.first).trials[found->second.second];
        if (stored.state != TrialState::running) throw trial_not_running(place, trial, to_text(stored.state));
        return stored;
    }

    std::map<std::int64_t, Kept> studies_;
    std::unordered_map<std::int64_t, std::pair<std::int64_t, std::size_t>> places_;  ///< trial id to study and index
    std::unordered_map<std::int64_t, std::optional<std::int64_t>> owners_;           ///< running trial to its run
    std::map<std::int64_t, OwnedRun> runs_;
    std::map<std::pair<const void*, std::int64_t>, std::uint64_t> seen_;  ///< what each refreshed vector knows
    std::int64_t last_study_id_ = 0;
    std::int64_t last_trial_id_ = 0;
    std::int64_t last_run_id_ = 0;
};

}  // namespace hpo::store
