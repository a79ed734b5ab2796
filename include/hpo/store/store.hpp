// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/study.hpp"

namespace hpo {

/// A process that works on a study. Its trials are lost when it is gone. The store sets the times.
struct Run {
    std::int64_t id = -1;
    std::string host;
    std::int64_t pid = 0;
    std::string started_ticks;  ///< the process's start time in clock ticks, which shows whether a pid was used again
    std::string configuration;  ///< JSON text: the effective settings of this run
    Time started{};
    Time heartbeat{};             ///< its last sign of life
    std::optional<Time> ended{};  ///< nullopt: it has not said so

    static constexpr void fields(auto field) {
        field("id", &Run::id, {.column = "run_id"});
        field("host", &Run::host);
        field("pid", &Run::pid);
        field("started_ticks", &Run::started_ticks);
        field("configuration", &Run::configuration);
        field("started", &Run::started, {.column = "started_at"});
        field("heartbeat", &Run::heartbeat, {.column = "heartbeat_at"});
        field("ended", &Run::ended, {.column = "ended_at"});
    }
};

/// How many trials a study may have, for processes that work on it together.
struct Quota {
    std::int64_t trials = 0;       ///< in all
    std::int64_t own_running = 0;  ///< begun by the caller and not finished
    double grace_seconds = 60;     ///< as in settle_lost_trials
};

/// Keeps studies. When a call returns, what it wrote is safe from a crash of the process. All calls throw Error{Errc::store} if the storage
/// fails.
/// Ownership of RUNNING trials: only the run that created or claimed a trial may change it, until the run is gone.
/// Thread safety: one thread per Store object. Several objects and processes may share one storage.
class Store {
public:
    enum class Open { create, resume, create_or_resume };

    virtual ~Store() = default;

    /// Throws unknown_name if `resume` finds no such study, usage if `create` finds one, and bad_value if the directions differ from the
    /// stored ones.
    virtual Study open_study(const std::string& name, std::span<const Direction> directions, Open mode) = 0;
    [[nodiscard]] virtual std::vector<Study> studies() = 0;
    virtual void delete_study(std::int64_t study_id) = 0;
    virtual void set_study_user_attribute(std::int64_t study_id, const std::string& key, const std::string& json) = 0;
    virtual void set_study_system_attribute(std::int64_t study_id, const std::string& key, const std::string& json) = 0;

    /// Brings `trials` up to date. They are empty at first and ordered by number. Cheap if no other process wrote. Trials that this object
    /// changed itself must already be up to date in `trials`. Returns true if something was read.
    virtual bool refresh(std::int64_t study_id, std::vector<Trial>& trials) = 0;
    [[nodiscard]] virtual std::vector<Rejection> rejections(std::int64_t study_id) = 0;

    /// Takes the oldest waiting trial, or creates one. It is RUNNING from now on, and no other process gets it. Fills id, number and
    /// started. A waiting trial also brings its attributes and `fixed`.
    virtual Trial begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) = 0;
    /// As begin_trial, but returns nullopt when the quota is reached. Trials that are done count (counts_as_done), and trials that run in
    /// the caller or in another run that is not gone. It counts and begins in one step. So processes that ask at the same time begin no
    /// more than the quota together.
    virtual std::optional<Trial> begin_trial_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota) = 0;
    /// As begin_trial_within, for a trial that goes on with a lost one after the checkpoint of step `last_kept`, or runs it again (retry_of
    /// in store/retries.hpp). Also returns nullopt if another trial does so already. If processes ask at the same time, only one of them
    /// gets it.
    virtual std::optional<Trial> begin_retry_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota,
                                                    const Trial& lost, std::optional<std::int64_t> last_kept) = 0;
    /// Adds a waiting trial with fixed values, by name, and with these system attributes.
    virtual Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed,
                          const Attributes& system_attributes) = 0;
    Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed) { return enqueue(study_id, fixed, {}); }
    /// Replaces the trial's stored parameters.
    virtual void set_params(const Trial& trial) = 0;
    /// Writes an attempt with everything that is known before its launch. Called again with each checkpoint. end_attempt writes its end.
    virtual void begin_attempt(const Trial& trial, const Attempt& attempt) = 0;
    virtual void end_attempt(const Trial& trial, const Attempt& attempt) = 0;
    virtual void report(const Trial& trial, const Report& report) = 0;
    /// Moves the trial's intermediate values to the attempt `superseded`, because the next attempt will report them again. If that goes on
    /// from a checkpoint, the values up to `last_kept` stay with the trial. If `last_kept` is nullopt, it begins at step 0, and all values
    /// move.
    virtual void restart_reports(const Trial& trial, const Attempt& superseded, std::optional<std::int64_t> last_kept) = 0;
    virtual void memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) = 0;
    /// Keeps the log of an attempt, in place of an earlier one.
    virtual void keep_log(const Trial& trial, int attempt, const std::string& text) = 0;
    /// Adds to the log of an attempt, also if its trial has ended. Throws bad_value for an attempt that has not begun.
    virtual void add_to_log(const Trial& trial, int attempt, const std::string& text) = 0;
    /// The kept log of an attempt. Empty if there is none.
    [[nodiscard]] virtual std::string log(const Trial& trial, int attempt) = 0;
    /// False for an attribute's text that `finish` would refuse, because it is no JSON.
    [[nodiscard]] virtual bool can_keep(std::string_view /*json*/) const { return true; }
    /// Writes state, values, attributes, constraints and completion time in one transaction.
    virtual void finish(const Trial& trial) = 0;
    virtual void reject(std::int64_t study_id, const Rejection& rejection) = 0;

    /// The latest attempts of all other studies that were predicted and have ended on a device of this name: at most `most`, oldest first.
    /// They may lack changed parameters, reports, and all memory marks except `trial_start` and `end`.
    [[nodiscard]] virtual std::vector<Attempt> attempts_of_other_studies(std::int64_t study_id, const std::string& device_name,
                                                                         std::size_t most) = 0;

    virtual Run begin_run(std::int64_t study_id, Run run) = 0;
    virtual void heartbeat(const Run& run) = 0;
    virtual void end_run(const Run& run) = 0;
    /// Ends the RUNNING trials of runs that are gone, and returns how many. A run is gone if its process on this host has died. A run of
    /// another host is gone if its heartbeat has not changed for `grace_seconds` while this store looked. The trials become FAIL with the
    /// user attribute `lost`, and are complete at the run's last sign of life.
    virtual std::size_t settle_lost_trials(std::int64_t study_id, double grace_seconds) = 0;
};

/// Takes the reports after `last_kept` out of a trial's reports and returns them. A later attempt that goes on from there tells them again.
/// If `last_kept` is nullopt, it takes all reports.
[[nodiscard]] inline StepValues take_superseded(StepValues& reports, std::optional<std::int64_t> last_kept) {
    const auto first = last_kept ? reports.upper_bound(*last_kept) : reports.begin();
    StepValues superseded(first, reports.end());
    reports.erase(first, reports.end());
    return superseded;
}

/// The user attribute that marks a trial whose supervisor or study was stopped. Such trials do not count as done.
inline constexpr std::string_view lost_attribute = "lost";
inline constexpr std::string_view lost_json = "true";

/// True for a FAIL trial with this mark. On any other trial, an attribute of this name is from another program.
[[nodiscard]] inline bool is_marked_lost(const Trial& trial) {
    if (trial.state != TrialState::fail) return false;
    const auto mark = trial.user_attributes.find(lost_attribute);
    return mark != trial.user_attributes.end() && mark->second == lost_json;
}

/// True for a finished trial that counts towards the asked number of trials.
[[nodiscard]] inline bool counts_as_done(const Trial& trial) { return is_finished(trial.state) && !is_marked_lost(trial); }

}  // namespace hpo
