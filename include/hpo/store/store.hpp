// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/study.hpp"

namespace hpo {

/// A process that works on a study. Its trials are lost when it is gone.
struct Run {
    std::int64_t id = -1;
    std::string host;
    std::int64_t pid = 0;
    std::string started_ticks;  ///< the process's start time in clock ticks: tells a reused pid from the same process
    std::string configuration;  ///< JSON text: the effective settings of this run
};

/// How many trials a study may come to, for a process that is not the only one to work on it.
struct Quota {
    std::int64_t trials = 0;       ///< in all
    std::int64_t own_running = 0;  ///< begun by the caller and not finished
    double grace_seconds = 60;     ///< as in settle_lost_trials
};

/// Where studies live. Everything that a call wrote is safe from a crash of the process when the call returns.
/// All throw Error{Errc::store} when the storage fails.
/// Ownership of RUNNING trials: only the run that created or claimed a trial may change it, until the run is gone.
/// Thread safety: one thread a Store object; several objects and processes may share one storage.
class Store {
public:
    enum class Open { create, resume, create_or_resume };

    virtual ~Store() = default;

    /// Throws unknown_name for resume of a study that does not exist, usage for create of one that does, and bad_value when the
    /// directions differ from the stored ones.
    virtual Study open_study(const std::string& name, std::span<const Direction> directions, Open mode) = 0;
    [[nodiscard]] virtual std::vector<Study> studies() = 0;
    virtual void delete_study(std::int64_t study_id) = 0;
    virtual void set_study_user_attribute(std::int64_t study_id, const std::string& key, const std::string& json) = 0;

    /// Brings `trials` (empty at first, ordered by number) up to what is stored; cheap when no other process wrote.
    /// Trials that this object changed itself must already stand in `trials`. True when something was read.
    virtual bool refresh(std::int64_t study_id, std::vector<Trial>& trials) = 0;
    [[nodiscard]] virtual std::vector<Rejection> rejections(std::int64_t study_id) = 0;

    /// Takes the oldest waiting trial, which nobody else then gets, or creates one; RUNNING from now on. Fills id,
    /// number and started; a waiting one brings its attributes and `fixed`.
    virtual Trial begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) = 0;
    /// As begin_trial, while fewer than `quota.trials` are done (counts_as_done), or run: in the caller, or for another run that is
    /// not gone. Counted and begun in one step: processes that ask at once begin no more together. Returns nullopt when the quota is
    /// reached.
    virtual std::optional<Trial> begin_trial_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota) = 0;
    /// As begin_trial_within, for a trial that goes on with a lost one after the checkpoint of step `last_kept`, or runs it again
    /// (retry_of, in store/retries.hpp). Returns nullopt also when another trial does so already: of processes that ask at once, one gets
    /// it.
    virtual std::optional<Trial> begin_retry_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota,
                                                    const Trial& lost, std::optional<std::int64_t> last_kept) = 0;
    /// Adds a waiting trial with fixed values, by name.
    virtual Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed) = 0;
    /// The trial's parameters are these from now on, and no others.
    virtual void set_params(const Trial& trial) = 0;
    /// Attempts are written when they begin (with everything before the launch), with each checkpoint, and when they end.
    virtual void begin_attempt(const Trial& trial, const Attempt& attempt) = 0;
    virtual void end_attempt(const Trial& trial, const Attempt& attempt) = 0;
    virtual void report(const Trial& trial, const Report& report) = 0;
    /// Moves the trial's intermediate values to `superseded`, since the next attempt will report them again; those up to
    /// `last_kept`, where it goes on from a checkpoint, stay the trial's. Nothing: it begins at step 0.
    virtual void restart_reports(const Trial& trial, const Attempt& superseded, std::optional<std::int64_t> last_kept) = 0;
    virtual void memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) = 0;
    /// Keeps what an attempt wrote, in place of what was kept of it before.
    virtual void keep_log(const Trial& trial, int attempt, const std::string& text) = 0;
    /// What was kept; empty: nothing.
    [[nodiscard]] virtual std::string log(const Trial& trial, int attempt) = 0;
    /// False for an attribute's text that `finish` would refuse, because it is no JSON.
    [[nodiscard]] virtual bool can_keep(std::string_view /*json*/) const { return true; }
    /// State, values, attributes, constraints and completion time, in one transaction.
    virtual void finish(const Trial& trial) = 0;
    virtual void reject(std::int64_t study_id, const Rejection& rejection) = 0;

    /// The attempts of all other studies that ended on a device of this name after a prediction of their need, from the oldest to the
    /// latest and of these at most `most`. Changed parameters, reports, and memory marks but `trial_start` and `end` may be left out.
    [[nodiscard]] virtual std::vector<Attempt> attempts_elsewhere(std::int64_t study_id, const std::string& device_name,
                                                                  std::size_t most) = 0;

    virtual Run begin_run(std::int64_t study_id, Run run) = 0;
    virtual void heartbeat(const Run& run) = 0;
    virtual void end_run(const Run& run) = 0;
    /// Ends the RUNNING trials of runs that are gone (their process on this host has died, or the heartbeat of another host is
    /// older than `grace_seconds`) as FAIL with the user attribute `lost`, complete at the run's last sign of life, and returns how many.
    virtual std::size_t settle_lost_trials(std::int64_t study_id, double grace_seconds) = 0;
};

/// Takes out of a trial's reports those that an attempt which goes on from `last_kept` (nothing: from its beginning) tells again.
[[nodiscard]] inline std::map<std::int64_t, double> take_superseded(std::map<std::int64_t, double>& reports,
                                                                    std::optional<std::int64_t> last_kept) {
    const auto first = last_kept ? reports.upper_bound(*last_kept) : reports.begin();
    std::map<std::int64_t, double> superseded(first, reports.end());
    reports.erase(first, reports.end());
    return superseded;
}

/// The user attribute that marks a trial whose supervisor or study was stopped; such trials do not count as done.
inline constexpr std::string_view lost_attribute = "lost";
inline constexpr std::string_view lost_json = "true";

/// True for a trial that carries this mark. Only a FAIL trial does: an attribute of that name elsewhere is another program's.
[[nodiscard]] inline bool is_marked_lost(const Trial& trial) {
    if (trial.state != TrialState::fail) return false;
    const auto mark = trial.user_attributes.find(lost_attribute);
    return mark != trial.user_attributes.end() && mark->second == lost_json;
}

/// True for a finished trial that counts towards the asked number of trials.
[[nodiscard]] inline bool counts_as_done(const Trial& trial) { return is_finished(trial.state) && !is_marked_lost(trial); }

}  // namespace hpo
