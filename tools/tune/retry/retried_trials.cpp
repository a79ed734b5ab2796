// SPDX-License-Identifier: MIT
#include "tune/retry/retried_trials.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/lost_trials.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/opening.hpp"
#include "hpo/store/sqlite/trial_reading.hpp"
#include "hpo/store/sqlite/trial_writing.hpp"
#include "hpo/tuner/reserved_attributes.hpp"
#include "support/text.hpp"
#include "tune/settings/stored_study.hpp"

namespace hpo::tune {

namespace {

/// An open file, and what it holds.
struct OpenStore {
    store::Connection& connection;
    store::TrialReader& reader;
    [[nodiscard]] store::TimeZone zone() const { return reader.shape().zone; }
};

Study study_of(const OpenStore& open, const std::string& name) {
    const std::string place = "store '" + open.connection.path() + "'";
    std::vector<Study> studies;
    if (!open.reader.shape().empty) studies = name.empty() ? open.reader.studies() : open.reader.studies(name);
    return study_named(place, studies, name);
}

std::map<std::int64_t, Time> heartbeats(const OpenStore& open, std::int64_t study_id) {
    std::map<std::int64_t, Time> beats;
    if (!open.connection.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'trial_heartbeats'").next()) return beats;
    store::Rows row = open.connection.query(
        "SELECT b.trial_id, b.heartbeat FROM trial_heartbeats b JOIN trials t ON t.trial_id = b.trial_id WHERE t.study_id = ?1 AND "
        "t.state = 'RUNNING'",
        study_id);
    while (row.next()) {  // the database's own clock writes them, which is UTC
        if (const auto beat = store::parse_time(row.text(1))) beats[row.integer(0)] = *beat;
    }
    return beats;
}

std::vector<RunningTrial> running_trials(const OpenStore& open, std::int64_t study_id, const std::vector<Trial>& trials) {
    std::map<std::int64_t, Run> runs;
    if (open.reader.shape().has_hpo_tables) {
        for (const auto& [run_id, busy] : store::busy_runs(open.connection, study_id)) {
            for (const std::int64_t trial_id : busy.trial_ids) runs[trial_id] = busy.run;
        }
    }
    const auto beats = heartbeats(open, study_id);
    std::vector<RunningTrial> running;
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::running) continue;
        RunningTrial& found = running.emplace_back();
        found.id = trial.id;
        found.number = trial.number;
        found.started = trial.started;
        if (const auto run = runs.find(trial.id); run != runs.end()) found.run = run->second;
        if (const auto beat = beats.find(trial.id); beat != beats.end()) found.heartbeat = beat->second;
    }
    return running;
}

void end_trial(const OpenStore& open, const RunningTrial& trial, Time at) {
    if (trial.run) return store::settle_lost_trial(open.connection, open.zone(), trial.id, *trial.run);
    open.connection.run("UPDATE trials SET state = 'FAIL', datetime_complete = ?2 WHERE trial_id = ?1 AND state = 'RUNNING'", trial.id,
                        store::time_text(at, open.zone()));
}

Trial waiting_retry_of(const Trial& failed) {
    Trial retry = retry_of(failed, std::nullopt);
    std::vector<std::string> told;  // how the failed one ended
    for (const auto& [name, json] : retry.user_attributes) {
        if (tuner::is_reserved_attribute(name)) told.push_back(name);
    }
    for (const std::string& name : told) retry.user_attributes.erase(name);
    return retry;
}

std::int64_t enqueue(const OpenStore& open, std::int64_t study_id, Trial retry) {
    const Trial added = store::insert_trial(open.connection, open.zone(), study_id, std::nullopt);
    retry.id = added.id;
    retry.number = added.number;
    store::write_params(open.connection, retry);
    store::write_attributes(open.connection, open.connection.place(), retry);
    return added.number;
}

void find_retries(RetryResult& result, const std::vector<Trial>& trials, const std::set<std::int64_t>& ended) {
    std::set<std::int64_t> taken;
    for (const Trial& trial : trials) {
        if (!has_taken_over(trial)) continue;
        for (const std::int64_t number : retry_history(trial)) taken.insert(number);
    }
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::fail && !ended.contains(trial.number)) continue;
        if (!has_taken_over(trial) && !retry_history(trial).empty()) continue;  // the one before it counts
        if (taken.contains(trial.number)) result.retried_before.push_back(trial.number);
        else if (trial.params.empty() && trial.fixed.empty()) result.without_params.push_back(trial.number);
        else result.retried.push_back({trial});
    }
}

RetryResult retry_in(const OpenStore& open, const std::string& name, const RetryRequest& request) {
    const Study study = study_of(open, name);
    const std::vector<Trial> trials = open.reader.trials({study.id}, {.reports = false});
    const Time at = now();
    RetryResult result;
    result.study = study.name;
    std::set<std::int64_t> ended;
    for (const RunningTrial& trial : running_trials(open, study.id, trials)) {
        const auto life = trial.life(at, request.older_than_seconds);
        if (life == RunningTrial::Life::lives) result.running.push_back(trial);
        else if (life == RunningTrial::Life::not_known) result.not_known.push_back(trial);
        else if (!request.stale) result.could_end.push_back(trial);
        else {
            ended.insert(trial.number);
            result.ended.push_back(trial);
            if (!request.dry_run) end_trial(open, trial, at);
        }
    }
    if (!request.failed) return result;
    find_retries(result, trials, ended);
    std::int64_t number = trials.empty() ? 0 : trials.back().number + 1;
    for (RetriedTrial& retried : result.retried)
        retried.number = request.dry_run ? number++ : enqueue(open, study.id, waiting_retry_of(retried.failed));
    return result;
}

}  // namespace

RunningTrial::Life RunningTrial::life(Time at, const std::optional<double>& older_than_seconds) const {
    if (run && (run->ended || run->host == store::host_name())) return store::is_gone_here(*run) ? Life::ended : Life::lives;
    const auto sign = last_sign();
    if (!older_than_seconds || !sign) return Life::not_known;
    return seconds_between(*sign, at) > *older_than_seconds ? Life::ended : Life::not_known;
}

std::optional<Time> RunningTrial::last_sign() const {
    std::optional<Time> sign = started;
    const auto later = [&](const std::optional<Time>& time) {
        if (time && (!sign || *time > *sign)) sign = time;
    };
    later(heartbeat);
    if (run) later(run->heartbeat);
    return sign;
}

std::string RunningTrial::reason(Time at) const {
    const auto ago = [&](Time time) { return tools::duration(std::max(0.0, seconds_between(time, at))) + " ago"; };
    if (run) {
        const std::string process = "its process " + std::to_string(run->pid);
        if (run->ended) return process + " on " + run->host + " has ended its run";
        if (run->host == store::host_name()) return process + " on this machine " + (store::is_gone_here(*run) ? "is gone" : "lives");
        return process + " on " + run->host + " gave its last heartbeat " + ago(run->heartbeat);
    }
    if (heartbeat) return "its last heartbeat was " + ago(*heartbeat);
    return started ? "it was begun " + ago(*started) + ", and has no heartbeat" : std::string{"it has no time and no heartbeat"};
}

RetryResult retry_trials(const std::string& file, const std::string& study, const RetryRequest& request) {
    store::require_openable(file, false);
    if (!request.dry_run) require_writable_store(file);
    store::Connection connection{file, {.write = !request.dry_run}};
    const auto shape = connection.read([&] {
        store::OptunaShape found = store::read_shape(connection);
        store::TrialReader reader{connection, found};
        static_cast<void>(study_of({connection, reader}, study));  // before anything is written
        return found;
    });
    store::TrialReader reader{connection, request.dry_run ? shape : store::prepare_file(connection)};
    const auto work = [&] { return retry_in({connection, reader}, study, request); };
    return request.dry_run ? connection.read(work) : connection.write(work);
}

}  // namespace hpo::tune
