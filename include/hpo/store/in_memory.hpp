// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/store/in_memory_runs.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

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
    Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed) override;
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

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/in_memory_inl.hpp"
#endif
