// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::store {

/// The version of the `hpo_*` tables. Raise it for a change that an older reader would misunderstand. Older readers then refuse the file.
inline constexpr int hpo_schema_version = 1;

/// The tables beside Optuna's. Sizes are in bytes, durations in seconds, times in UTC. NULL means "not known".
/// docs/development/store-layout.md describes every column. A trial's rows have the key (trial_id, attempt), so each table can be read
/// without a join. The tables of records come first (tables_sql), because an index and triggers need them.
inline constexpr const char* hpo_other_tables = R"sql(
CREATE TABLE IF NOT EXISTS hpo_meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS ix_hpo_runs_study_id ON hpo_runs (study_id);
CREATE TABLE IF NOT EXISTS hpo_trials (
    trial_id INTEGER NOT NULL PRIMARY KEY,
    run_id INTEGER
);
CREATE INDEX IF NOT EXISTS ix_hpo_memory_trial_id ON hpo_memory (trial_id, attempt, name, seconds);
CREATE TABLE IF NOT EXISTS hpo_attempt_reports (
    trial_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    step INTEGER NOT NULL,
    value REAL,
    PRIMARY KEY (trial_id, attempt, step)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hpo_logs (
    trial_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (trial_id, attempt)
);
CREATE INDEX IF NOT EXISTS ix_hpo_rejections_study_id ON hpo_rejections (study_id);
CREATE TABLE IF NOT EXISTS hpo_predictions (
    key TEXT NOT NULL PRIMARY KEY,
    prediction TEXT NOT NULL,
    predicted_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS hpo_trial_deleted AFTER DELETE ON trials BEGIN
    DELETE FROM hpo_trials WHERE trial_id = OLD.trial_id;
    DELETE FROM hpo_attempts WHERE trial_id = OLD.trial_id;
    DELETE FROM hpo_failures WHERE trial_id = OLD.trial_id;
    DELETE FROM hpo_memory WHERE trial_id = OLD.trial_id;
    DELETE FROM hpo_attempt_reports WHERE trial_id = OLD.trial_id;
    DELETE FROM hpo_logs WHERE trial_id = OLD.trial_id;
END;
CREATE TRIGGER IF NOT EXISTS hpo_study_deleted AFTER DELETE ON studies BEGIN
    DELETE FROM hpo_rejections WHERE study_id = OLD.study_id;
    DELETE FROM hpo_runs WHERE study_id = OLD.study_id;
END;
)sql";

/// Removes rows of trials and studies that are gone. They may be left if a file's triggers were lost or did less than ours.
inline constexpr const char* hpo_orphan_removal = R"sql(
DELETE FROM hpo_trials WHERE trial_id NOT IN (SELECT trial_id FROM trials);
DELETE FROM hpo_attempts WHERE trial_id NOT IN (SELECT trial_id FROM trials);
DELETE FROM hpo_failures WHERE trial_id NOT IN (SELECT trial_id FROM trials);
DELETE FROM hpo_memory WHERE trial_id NOT IN (SELECT trial_id FROM trials);
DELETE FROM hpo_attempt_reports WHERE trial_id NOT IN (SELECT trial_id FROM trials);
DELETE FROM hpo_logs WHERE trial_id NOT IN (SELECT trial_id FROM trials);
DELETE FROM hpo_rejections WHERE study_id NOT IN (SELECT study_id FROM studies);
DELETE FROM hpo_runs WHERE study_id NOT IN (SELECT study_id FROM studies);
)sql";

}  // namespace hpo::store
