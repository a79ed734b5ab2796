// SPDX-License-Identifier: MIT
#include "tune/models/checkpoint_folders.hpp"

#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/store/retries.hpp"
#include "support/json.hpp"

namespace hpo::tune {
namespace {

namespace fs = std::filesystem;
using tools::Json;

void add_file(CheckpointConditions& conditions, const fs::path& file) {
    std::error_code error;
    const auto bytes = fs::file_size(file, error);
    if (error) return;
    const auto changed = fs::last_write_time(file, error).time_since_epoch().count();
    conditions["file " + file.string()] = std::to_string(bytes) + " bytes of moment " + std::to_string(changed);
}

/// Nothing for a file that is not there or cannot be read as what it should be.
std::optional<CheckpointConditions> read_conditions(const fs::path& file) {
    std::ifstream in{file};
    const Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return std::nullopt;
    CheckpointConditions conditions;
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string()) return std::nullopt;
        conditions[key] = value.get<std::string>();
    }
    return conditions;
}

void write_conditions(const fs::path& file, const CheckpointConditions& conditions) {
    std::ofstream out{file};
    out << Json(conditions).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    if (!out.flush()) throw Error{Errc::store, file.string() + ": cannot be written"};
}

/// The first difference, in words; empty: there is none.
std::string difference(const CheckpointConditions& then, const CheckpointConditions& now) {
    for (const auto& [key, value] : now) {
        const auto had = then.find(key);
        if (had == then.end()) return key + " is new";
        if (had->second == value) continue;
        if (key.starts_with("file ")) return key + " has changed";
        return key + " is " + value + " now and was " + had->second;
    }
    for (const auto& [key, value] : then) {
        if (!now.contains(key)) return key + " is no longer there";
    }
    return {};
}

}  // namespace

void add_files(CheckpointConditions& conditions, const std::string& text, const fs::path& store) {
    std::error_code error;
    if (text.empty() || text.find('\0') != std::string::npos) return;
    const fs::file_status status = fs::status(text, error);
    if (fs::is_regular_file(status)) add_file(conditions, text);
    if (!fs::is_directory(status)) return;
    for (const auto& entry : fs::directory_iterator{text, error}) {
        const bool is_ours = entry.path().filename().string().starts_with(store.filename().string());
        if (!is_ours && entry.is_regular_file(error)) add_file(conditions, entry.path());
    }
}

CheckpointFolders::CheckpointFolders(fs::path store, std::int64_t study_id, CheckpointConditions conditions)
    : store_{std::move(store)},
      root_{fs::absolute(store_.string() + ".checkpoints")},
      study_{root_ / ("study-" + std::to_string(study_id))},
      conditions_{std::move(conditions)} {}

CheckpointFolders::~CheckpointFolders() {
    std::error_code not_empty;
    fs::remove(study_, not_empty);
    fs::remove(root_, not_empty);
}

std::string CheckpointFolders::make(const Trial& trial) const {
    std::error_code error;
    fs::create_directories(study_, error);
    if (error) throw Error{Errc::store, study_.string() + ": cannot make this folder for checkpoints: " + error.message()};
    write_conditions(conditions_file(trial.number), conditions_of(trial));
    if (const auto place = place_of(trial); place && *place != trial.number) {
        std::error_code ignored;  // the attempt then finds no checkpoint, and begins anew
        fs::rename(of(*place), of(trial.number), ignored);
        fs::remove(conditions_file(*place), ignored);
    }
    fs::create_directories(of(trial.number), error);
    if (error) throw Error{Errc::store, of(trial.number).string() + ": cannot make this folder for checkpoints: " + error.message()};
    return of(trial.number).string();
}

std::optional<std::string> CheckpointFolders::left_by(const Trial& lost) const {
    const auto place = place_of(lost);
    std::error_code error;
    if (!place || fs::is_empty(of(*place), error) || error) return std::nullopt;
    const auto then = read_conditions(conditions_file(*place));
    if (!then) return conditions_file(*place).string() + " does not say under which settings its checkpoints were made";
    return difference(*then, conditions_of(lost));
}

void CheckpointFolders::finished(const Trial& trial) const {
    if (is_lost(trial) && latest_checkpoint(trial)) return;
    remove(trial.number);
    for (const std::int64_t number : retry_history(trial)) remove(number);
}

void CheckpointFolders::settle(const std::vector<Trial>& trials, bool over) const {
    std::set<std::int64_t> needed;
    for (const Trial& trial : trials) {
        if (is_finished(trial.state) && (over || !is_lost(trial) || !latest_checkpoint(trial))) continue;
        needed.insert(trial.number);
        for (const std::int64_t number : retry_history(trial)) needed.insert(number);
    }
    for (const Trial& trial : trials) {
        if (!needed.contains(trial.number)) remove(trial.number);
    }
}

CheckpointConditions CheckpointFolders::conditions_of(const Trial& trial) const {
    CheckpointConditions conditions = conditions_;
    for (const Param& param : trial.params) {
        const Value value = param.value();
        if (const auto* text = std::get_if<std::string>(&value)) add_files(conditions, *text, store_);
    }
    return conditions;
}

std::optional<std::int64_t> CheckpointFolders::place_of(const Trial& trial) const {
    std::vector<std::int64_t> line = retry_history(trial);
    line.push_back(trial.number);
    std::error_code error;
    for (auto number = line.rbegin(); number != line.rend(); ++number) {
        if (fs::is_directory(of(*number), error)) return *number;
    }
    return std::nullopt;
}

void CheckpointFolders::remove(std::int64_t trial) const {
    std::error_code ignored;  // what cannot be removed only takes room
    fs::remove_all(of(trial), ignored);
    fs::remove(conditions_file(trial), ignored);
}

}  // namespace hpo::tune
