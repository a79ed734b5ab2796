// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/lost_trials.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite/attempt_rows.hpp"
#include "hpo/store/sqlite/opening.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/sqlite/run_rows.hpp"
#include "hpo/store/sqlite/study_attributes.hpp"
#include "hpo/store/sqlite/trial_writing.hpp"
#include "hpo/store/store_rules.hpp"
#include "store/attempts_of_other_studies.hpp"
#include "store/sqlite/stored_logs.hpp"

namespace hpo::store {

Sqlite::Sqlite(const std::string& address, const SqliteOptions& options)
    : connection_{std::make_unique<Connection>(file_of(address),
                                               Connection::Options{.write = true, .immutable = false, .patience = options})},
      reader_{std::make_unique<TrialReader>(*connection_, prepare_file(*connection_))},
      place_{"store '" + connection_->path() + "'"} {}

void Sqlite::give_back_journal() { store::give_back_journal(*connection_); }

Study Sqlite::open_study(const std::string& name, std::span<const Direction> directions, Open mode) {
    return connection_->write([&] {
        std::vector<std::string> names;
        for (Study& study : reader_->studies(name)) {
            if (study.name == name) {
                if (mode == Open::create) throw study_exists(place_, name);
                require_same_directions(place_, study, directions);
                names_[study.id] = name;
                return study;
            }
            names.push_back(study.name);
        }
        if (mode == Open::resume) throw unknown_name(place_, "study", name, names);
        require_new_study(place_, name, directions);
        Study study;
        study.name = name;
        study.directions.assign(directions.begin(), directions.end());
        study.id = insert_study(*connection_, name, directions);
        forget(study.id);
        names_[study.id] = name;
        return study;
    });
}

void Sqlite::delete_study(std::int64_t study_id) {
    connection_->write([&] {
        require_study(study_id);
        delete_study_rows(*connection_, study_id);
    });
    forget(study_id);
}

void Sqlite::set_study_user_attribute(std::int64_t study_id, const std::string& key, const std::string& json) {
    connection_->write([&] {
        require_study(study_id);
        connection_->run(
            "INSERT INTO study_user_attributes (study_id, \"key\", value_json) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (study_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
            study_id, valid_utf8(key), checked_json(place_, key, json));
    });
}

void Sqlite::set_study_system_attribute(std::int64_t study_id, const std::string& key, const std::string& json) {
    connection_->write([&] {
        require_study(study_id);
        write_study_system_attribute(*connection_, study_id, valid_utf8(key), checked_json(place_, key, json));
    });
}

bool Sqlite::refresh(std::int64_t study_id, std::vector<Trial>& trials) {
    const TrialSync::Version version{connection_->data_version(), own_changes_};
    if (sync_.is_current(study_id, trials, version)) return false;
    return connection_->read([&] {
        require_study(study_id);
        return sync_.bring_up(*reader_, *connection_, study_id, trials, version, [&](std::int64_t id) { return owned_.contains(id); });
    });
}

std::vector<Attempt> Sqlite::attempts_of_other_studies(std::int64_t study_id, const std::string& device_name, std::size_t most) {
    return connection_->read([&] { return read_attempts_of_other_studies(*connection_, study_id, device_name, most); });
}

void Sqlite::require_in_place() const {
    if (const auto what = displaced()) throw Error{Errc::store, place_ + ": the file " + *what + " while it was open"};
}

void Sqlite::copy_to(const std::string& path) { connection_->copy_to(path); }

Trial Sqlite::begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) {
    require_in_place();
    Trial trial = connection_->write([&] { return take_trial(study_id, run_id); });
    owned_[trial.id] = run_id;
    return trial;
}

std::optional<Trial> Sqlite::begin_trial_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota) {
    require_in_place();
    auto trial = connection_->write([&]() -> std::optional<Trial> {
        if (!has_room(study_id, run_id, quota)) return std::nullopt;
        return take_trial(study_id, run_id);
    });
    if (trial) owned_[trial->id] = run_id;
    return trial;
}

std::optional<Trial> Sqlite::begin_retry_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota,
                                                const Trial& lost, std::optional<std::int64_t> last_kept) {
    require_in_place();
    auto trial = connection_->write([&]() -> std::optional<Trial> {
        require_study(study_id);
        if (!has_room(study_id, run_id, quota) || is_taken_over(*connection_, study_id, lost.number)) return std::nullopt;
        return insert_retry(*connection_, place_, zone(), study_id, run_id, retry_of(lost, last_kept));
    });
    if (trial) owned_[trial->id] = run_id;
    return trial;
}

Trial Sqlite::enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed, const Attributes& system_attributes) {
    ++own_changes_;
    return connection_->write([&] {
        require_study(study_id);
        Trial trial = insert_trial(*connection_, zone(), study_id, std::nullopt);
        trial.system_attributes = system_attributes;
        trial.system_attributes["fixed_params"] = fixed_params_text(fixed);
        trial.fixed = fixed;
        write_attributes(*connection_, place_, trial);
        return trial;
    });
}

void Sqlite::set_params(const Trial& trial) {
    connection_->write([&] {
        require_running(trial);
        write_params(*connection_, trial);
    });
}

void Sqlite::report(const Trial& trial, const Report& report) {
    connection_->write([&] {
        require_running(trial);
        write_report(*connection_, trial.id, report);
    });
}

void Sqlite::restart_reports(const Trial& trial, const Attempt& superseded, std::optional<std::int64_t> last_kept) {
    connection_->write([&] {
        require_running(trial);
        write_attempt(*connection_, trial.id, superseded);
        move_reports(*connection_, trial.id, superseded.index, last_kept);
    });
}

void Sqlite::memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) {
    connection_->write([&] {
        require_attempt(trial, attempt);
        write_mark(*connection_, trial.id, attempt, mark);
    });
}

void Sqlite::finish(const Trial& trial) {
    connection_->write([&] {
        require_running(trial);
        require_finishable(place_, trial, objectives_of(*connection_, trial.id));
        write_end(*connection_, place_, zone(), trial, constraint_format_);
    });
    owned_.erase(trial.id);
}

void Sqlite::reject(std::int64_t study_id, const Rejection& rejection) {
    connection_->write([&] {
        require_study(study_id);
        write_rejection(*connection_, study_id, rejection);
    });
}

Run Sqlite::begin_run(std::int64_t study_id, Run run) {
    run = identified(std::move(run));
    connection_->write([&] {
        require_study(study_id);
        insert_run(*connection_, study_id, run);
    });
    return run;
}

void Sqlite::heartbeat(const Run& run) {
    require_in_place();
    connection_->write([&] { write_heartbeat(*connection_, run); });
}

void Sqlite::end_run(const Run& run) {
    connection_->write([&] { write_run_end(*connection_, run); });
}

std::size_t Sqlite::settle_lost_trials(std::int64_t study_id, double grace_seconds) {
    const std::vector<std::int64_t> settled = connection_->write([&] {
        require_study(study_id);
        return settle_lost(*connection_, zone(), study_id, grace_seconds, watch_);
    });
    for (const std::int64_t id : settled) owned_.erase(id);
    if (!settled.empty()) ++own_changes_;
    return settled.size();
}

void Sqlite::forget(std::int64_t study_id) {
    names_.erase(study_id);
    not_waiting_up_to_.erase(study_id);
    counts_.erase(study_id);
}

void Sqlite::require_study(std::int64_t study_id) {
    Rows row = connection_->query("SELECT study_name FROM studies WHERE study_id = ?1", study_id);
    if (!row.next()) throw no_study(place_, study_id);
    const auto known = names_.find(study_id);
    if (known != names_.end() && known->second != row.text(0)) throw no_study(place_, study_id);  // deleted, and its id was used again
}

bool Sqlite::has_room(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota) {
    TrialCount& count = counts_[study_id];
    const std::int64_t done = count.done(*connection_, reader_->shape(), study_id);
    return done + quota.own_running + count.running_in_other_runs(*connection_, study_id, run_id, quota.grace_seconds, watch_) <
           quota.trials;
}

Trial Sqlite::take_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) {
    require_study(study_id);
    const Time started = now();
    Trial begun;
    if (const auto waiting = oldest_waiting(study_id)) {
        connection_->run("UPDATE trials SET state = 'RUNNING', datetime_start = ?2 WHERE trial_id = ?1 AND state = 'WAITING'", *waiting,
                         time_text(started, zone()));
        begun = std::move(reader_->trials({study_id, *waiting, *waiting}).at(0));
    } else {
        begun = insert_trial(*connection_, zone(), study_id, started);
    }
    connection_->run("INSERT OR REPLACE INTO hpo_trials (trial_id, run_id) VALUES (?1, ?2)", begun.id, run_id);
    return begun;
}

void Sqlite::require_running(const Trial& trial) {
    Rows row = connection_->query(
        "SELECT t.state, h.run_id FROM trials t LEFT JOIN hpo_trials h ON h.trial_id = t.trial_id WHERE t.trial_id = ?1", trial.id);
    if (!row.next()) throw trial_gone(place_, trial);
    const auto own = owned_.find(trial.id);
    if (own != owned_.end() && own->second && own->second != row.maybe_integer(1)) throw trial_gone(place_, trial);
    if (const std::string state = row.text(0); state != "RUNNING") throw trial_not_running(place_, trial, state);
}

void Sqlite::require_attempt(const Trial& trial, int attempt) {
    require_running(trial);
    require_begun(trial, attempt);
}

void Sqlite::require_begun(const Trial& trial, int attempt) {
    if (!connection_->query("SELECT 1 FROM hpo_attempts WHERE trial_id = ?1 AND attempt = ?2", trial.id, attempt).next())
        throw no_attempt(place_, trial, attempt);
}

std::optional<std::int64_t> Sqlite::oldest_waiting(std::int64_t study_id) {
    std::int64_t& passed = not_waiting_up_to_[study_id];
    Rows row = connection_->query(reader_->shape().has_discarded
                                      ? "SELECT trial_id, state FROM trials WHERE study_id = ?1 AND trial_id > ?2 AND discarded_at IS NULL "
                                        "ORDER BY trial_id"
                                      : "SELECT trial_id, state FROM trials WHERE study_id = ?1 AND trial_id > ?2 ORDER BY trial_id",
                                  study_id, passed);
    while (row.next()) {
        if (row.text(1) == "WAITING") return row.integer(0);
        passed = row.integer(0);
    }
    return std::nullopt;
}

void Sqlite::store_attempt(const Trial& trial, const Attempt& attempt) {
    connection_->write([&] {
        require_running(trial);
        write_attempt(*connection_, trial.id, attempt);
    });
}

void Sqlite::keep_log(const Trial& trial, int attempt, const std::string& text) {
    connection_->write([&] {
        require_attempt(trial, attempt);
        write_log(*connection_, trial.id, attempt, text);
    });
}

void Sqlite::add_to_log(const Trial& trial, int attempt, const std::string& text) {
    connection_->write([&] {
        require_begun(trial, attempt);
        write_log(*connection_, trial.id, attempt, read_log(*connection_, trial.id, attempt) + text);
    });
}

std::string Sqlite::log(const Trial& trial, int attempt) {
    return connection_->read([&] { return read_log(*connection_, trial.id, attempt); });
}

}  // namespace hpo::store
