// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::store::optuna {

/// The revision of the tables below, and the Optuna release that makes the same tables. Optuna 3.2 to 5.0 open such a file without an
/// upgrade.
inline constexpr std::string_view revision = "v3.2.0.a";
inline constexpr std::string_view library_version = "5.0.0";
inline constexpr int schema_version = 12;  ///< of version_info; Optuna no longer changes it

/// Every revision that Optuna has had, oldest first.
inline constexpr std::array<std::string_view, 10> revisions{"v0.9.0.a", "v1.2.0.a", "v1.3.0.a", "v2.4.0.a", "v2.6.0.a",
                                                            "v3.0.0.a", "v3.0.0.b", "v3.0.0.c", "v3.0.0.d", "v3.2.0.a"};

/// The tables of Optuna 5.0.0 with exactly the same names, types, constraints and indices.
inline constexpr const char* tables = R"sql(
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE studies (
    study_id INTEGER NOT NULL,
    study_name VARCHAR(512) NOT NULL,
    PRIMARY KEY (study_id)
);
CREATE TABLE study_directions (
    study_direction_id INTEGER NOT NULL,
    direction VARCHAR(8) NOT NULL,
    study_id INTEGER NOT NULL,
    objective INTEGER NOT NULL,
    PRIMARY KEY (study_direction_id),
    UNIQUE (study_id, objective),
    FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE study_system_attributes (
    study_system_attribute_id INTEGER NOT NULL,
    study_id INTEGER,
    "key" VARCHAR(512),
    value_json TEXT,
    PRIMARY KEY (study_system_attribute_id),
    UNIQUE (study_id, "key"),
    FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE study_user_attributes (
    study_user_attribute_id INTEGER NOT NULL,
    study_id INTEGER,
    "key" VARCHAR(512),
    value_json TEXT,
    PRIMARY KEY (study_user_attribute_id),
    UNIQUE (study_id, "key"),
    FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE trial_heartbeats (
    trial_heartbeat_id INTEGER NOT NULL,
    trial_id INTEGER NOT NULL,
    heartbeat DATETIME NOT NULL,
    PRIMARY KEY (trial_heartbeat_id),
    UNIQUE (trial_id),
    FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_intermediate_values (
    trial_intermediate_value_id INTEGER NOT NULL,
    trial_id INTEGER NOT NULL,
    step INTEGER NOT NULL,
    intermediate_value FLOAT,
    intermediate_value_type VARCHAR(7) NOT NULL,
    PRIMARY KEY (trial_intermediate_value_id),
    UNIQUE (trial_id, step),
    FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_params (
    param_id INTEGER NOT NULL,
    trial_id INTEGER,
    param_name VARCHAR(512),
    param_value FLOAT,
    distribution_json TEXT,
    PRIMARY KEY (param_id),
    UNIQUE (trial_id, param_name),
    FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_system_attributes (
    trial_system_attribute_id INTEGER NOT NULL,
    trial_id INTEGER,
    "key" VARCHAR(512),
    value_json TEXT,
    PRIMARY KEY (trial_system_attribute_id),
    UNIQUE (trial_id, "key"),
    FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_user_attributes (
    trial_user_attribute_id INTEGER NOT NULL,
    trial_id INTEGER,
    "key" VARCHAR(512),
    value_json TEXT,
    PRIMARY KEY (trial_user_attribute_id),
    UNIQUE (trial_id, "key"),
    FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_values (
    trial_value_id INTEGER NOT NULL,
    trial_id INTEGER NOT NULL,
    objective INTEGER NOT NULL,
    value FLOAT,
    value_type VARCHAR(7) NOT NULL,
    PRIMARY KEY (trial_value_id),
    UNIQUE (trial_id, objective),
    FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trials (
    trial_id INTEGER NOT NULL,
    number INTEGER,
    study_id INTEGER,
    state VARCHAR(8) NOT NULL,
    datetime_start DATETIME,
    datetime_complete DATETIME,
    PRIMARY KEY (trial_id),
    FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE version_info (
    version_info_id INTEGER NOT NULL,
    schema_version INTEGER,
    library_version VARCHAR(256),
    PRIMARY KEY (version_info_id),
    CHECK (version_info_id=1)
);
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE INDEX ix_trials_study_id ON trials (study_id);
INSERT INTO alembic_version VALUES ('v3.2.0.a');
INSERT INTO version_info VALUES (1, 12, '5.0.0');
)sql";

/// An objective or intermediate value as two columns. If the number is not finite, it is NULL, and the type says which it is.
struct StoredNumber {
    std::optional<double> number;
    const char* type = "FINITE";
};
[[nodiscard]] inline StoredNumber stored_number(double value) {
    if (std::isnan(value)) return {std::nullopt, "NAN"};
    if (std::isinf(value)) return {std::nullopt, value > 0 ? "INF_POS" : "INF_NEG"};
    return {value, "FINITE"};
}
[[nodiscard]] inline double read_number(std::optional<double> number, std::string_view type) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (type == "INF_POS") return infinity;
    if (type == "INF_NEG") return -infinity;
    return number.value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace hpo::store::optuna
