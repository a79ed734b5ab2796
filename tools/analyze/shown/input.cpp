// SPDX-License-Identifier: MIT
#include "analyze/shown/input.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/study_counts.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

namespace {

/// Refuses sizes that no run can have written: they would make figures that mean nothing. What is free may be negative, where runs differ
/// in what they may have of a device; predictions and requests may be as large as a configuration is absurd.
struct SizeCheck {
    const std::string& study;
    std::optional<std::int64_t> trial{};  ///< nothing: a rejection
    int attempt_index = 0;

    [[nodiscard]] std::string place() const {
        return study + (trial ? "trial " + std::to_string(*trial) + ", " + tools::attempt_name(attempt_index) : "a rejection") + ": ";
    }
    void expect(bool is_size, std::string_view name, std::optional<std::int64_t> bytes) const {
        if (!bytes || is_size) return;
        throw hpo::Error{hpo::Errc::store,
                         place() + std::string{name} + " holds " + std::to_string(*bytes) + "; expected a size of memory"};
    }
    void size(std::string_view name, std::optional<std::int64_t> bytes) const { expect(bytes >= 0, name, bytes); }
    void measured(std::string_view name, std::optional<std::int64_t> bytes) const {
        expect(hpo::size_of_memory(bytes).has_value(), name, bytes);
    }
    void estimate(const std::optional<hpo::Estimate>& told) const {
        if (!told) return;
        size("predicted_bytes", told->need);
        size("comfort_bytes", told->comfort);
        size("estimate_cap_bytes", told->cap_bytes);
    }
    void reading(const hpo::MemoryReading& memory) const {
        measured("allocated_bytes", memory.allocated);
        measured("reserved_bytes", memory.reserved);
        measured("capacity_bytes", memory.capacity);
        measured("limit_bytes", memory.limit);
        measured("peak_allocated_bytes", memory.peak_allocated);
        measured("peak_reserved_bytes", memory.peak_reserved);
    }
    void attempt(const hpo::Attempt& one) const {
        estimate(one.estimate);
        measured("capacity_bytes", one.capacity_bytes);
        measured("peak_allocated_bytes", one.peak_allocated);
        measured("peak_reserved_bytes", one.peak_reserved);
        for (const hpo::MemoryMark& mark : one.memory) reading(mark.reading);
        if (one.failure) reading(one.failure->memory);
    }
};

/// True for a trial of our tools, which is known by its attempts; one that was not launched, or was interrupted before, has none.
bool is_ours(const hpo::Trial& trial) {
    return !trial.attempts.empty() || trial.state == hpo::TrialState::waiting || hpo::analysis::is_interrupted(trial);
}

/// How long ago anybody wrote the store. SQLite writes a log beside it.
std::optional<double> seconds_since_write(const std::string& path) {
    std::optional<std::filesystem::file_time_type> latest;
    for (const char* const end : {"", "-wal", "-journal"}) {
        std::error_code missing;
        const auto time = std::filesystem::last_write_time(path + end, missing);
        if (!missing) latest = std::max(latest.value_or(time), time);
    }
    if (!latest) return std::nullopt;
    return std::chrono::duration<double>(std::filesystem::file_time_type::clock::now() - *latest).count();
}

/// Throws Error for a file without a byte. A run that has just begun makes it so for a moment.
void require_content(const std::string& path) {
    std::error_code missing;
    if (std::filesystem::file_size(path, missing) == 0 && !missing && !std::filesystem::exists(path + "-wal", missing))
        throw hpo::Error{hpo::Errc::store, "store '" + path + "': is empty: no program has written a study into it"};
}

enum class Reading { whole, without_reports, brief, brief_without_params };

StudyData read(hpo::store::Snapshot& snapshot, const hpo::Study& study, Reading reading) {
    StudyData data{.store = snapshot.path(), .study = study, .trials = {}, .rejections = snapshot.rejections(study)};
    bool is_read = false;
    if (snapshot.has_attempts() && (reading == Reading::brief || reading == Reading::brief_without_params)) {
        const bool with_params = reading == Reading::brief;
        data.trials = snapshot.trials(study, {.params = with_params, .reports = false, .details = false});
        is_read = std::ranges::all_of(data.trials, is_ours);
        data.lacks_params = is_read && !with_params;
    }
    if (!is_read) data.trials = snapshot.trials(study, {.reports = reading != Reading::without_reports});
    const auto is_running = [](const hpo::Trial& trial) { return trial.state == hpo::TrialState::running; };
    if (std::ranges::any_of(data.trials, is_running)) {
        data.abandoned = snapshot.abandoned_trials(study);
        data.silent_seconds = seconds_since_write(snapshot.path());
    }
    const std::string place = "store '" + data.store + "': study '" + study.name + "': ";
    for (const hpo::Trial& trial : data.trials) {
        for (const hpo::Attempt& attempt : trial.attempts) SizeCheck{place, trial.number, attempt.index}.attempt(attempt);
    }
    for (const hpo::Rejection& rejection : data.rejections) SizeCheck{place}.estimate(rejection.estimate);
    return data;
}

StudyData read_one(const Query& query, Reading reading) {
    hpo::store::Snapshot snapshot{query.store};
    require_content(snapshot.path());
    if (!query.study.empty()) return read(snapshot, snapshot.study(query.study), reading);
    const std::vector<hpo::Study> studies = snapshot.studies();
    const std::string place = "store '" + snapshot.path() + "': ";
    if (studies.empty()) throw hpo::Error{hpo::Errc::unknown_name, place + "holds no study"};
    if (studies.size() == 1) return read(snapshot, studies.front(), reading);
    std::vector<std::string> names;
    for (const hpo::Study& study : studies) names.push_back(study.name);
    throw hpo::Error{hpo::Errc::unknown_name, place + "holds " + std::to_string(studies.size()) +
                                                  " studies, name one with --study; known: " + hpo::join_names(names)};
}

std::vector<StudyData> read_all(const Query& query, Reading reading) {
    hpo::store::Snapshot snapshot{query.store};
    require_content(snapshot.path());
    std::vector<StudyData> all;
    if (!query.study.empty()) {
        all.push_back(read(snapshot, snapshot.study(query.study), reading));
        return all;
    }
    for (const hpo::Study& study : snapshot.studies()) all.push_back(read(snapshot, study, reading));
    return all;
}

}  // namespace

bool Query::has_logs_alone() const {
    std::error_code unreadable;
    return !logs.empty() && !names_store && study.empty() && !std::filesystem::exists(store, unreadable);
}

std::vector<hpo::Study> known_studies(const Query& query) {
    hpo::store::Snapshot snapshot{query.store};
    require_content(snapshot.path());
    return snapshot.studies();
}

StudyData read_study(const Query& query) { return read_one(query, Reading::whole); }
StudyData read_study_without_reports(const Query& query) { return read_one(query, Reading::without_reports); }
StudyData read_study_in_brief(const Query& query) { return read_one(query, query.logs.empty() ? Reading::brief : Reading::whole); }
std::vector<StudyData> read_studies(const Query& query) { return read_all(query, Reading::whole); }
std::vector<StudyData> read_studies_in_brief(const Query& query) {
    return read_all(query, query.logs.empty() ? Reading::brief_without_params : Reading::whole);
}

hpo::analysis::ParamNames names_of(std::span<const StudyData> studies) {
    hpo::analysis::ParamNames names;
    for (const StudyData& data : studies) names.add(data.trials);
    return names;
}

void add_params(StudyData& data, std::span<hpo::Trial> trials) { hpo::store::Snapshot{data.store}.add_params(data.study, trials); }

std::vector<std::string> attempt_logs(const StudyData& data, const hpo::Trial& trial) {
    hpo::store::Snapshot snapshot{data.store};
    std::vector<std::string> logs;
    for (const hpo::Attempt& attempt : trial.attempts) logs.push_back(snapshot.log(trial, attempt.index));
    return logs;
}

void add_params_if_needed(StudyData& data) {
    if (!data.lacks_params) return;
    const auto cases = hpo::analysis::failure_cases(data.trials);
    const bool needed =
        std::ranges::any_of(cases, [](const hpo::analysis::FailureCase& entry) { return entry.is_oom() && entry.failure.message.empty(); });
    if (!needed) return;
    add_params(data, data.trials);
    data.lacks_params = false;
}

}  // namespace hpo::analyze
