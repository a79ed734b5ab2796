// SPDX-License-Identifier: MIT

#include <string>

#include "hpo/store/sqlite.hpp"
#include "hpo/store/sqlite/stored_logs.hpp"

namespace hpo::store {

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
