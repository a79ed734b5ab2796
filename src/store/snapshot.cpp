// SPDX-License-Identifier: MIT
#include "hpo/store/snapshot.hpp"

#include <sys/stat.h>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/store/lost_trials.hpp"
#include "hpo/store/sqlite/run_rows.hpp"
#include "hpo/store/store_rules.hpp"
#include "store/attempts_of_other_studies.hpp"
#include "store/sqlite/stored_logs.hpp"

namespace hpo::store {

std::vector<Study> Snapshot::studies() {
    return consistent([&] { return shape().empty ? std::vector<Study>{} : reader_->studies(); });
}

Study Snapshot::study(const std::string& name) {
    std::vector<std::string> names;
    for (Study& study : consistent([&] { return shape().empty ? std::vector<Study>{} : reader_->studies(name); })) {
        if (study.name == name) return std::move(study);
        names.push_back(study.name);
    }
    throw unknown_name("store '" + path_ + "'", "study", name, names);
}

std::vector<Trial> Snapshot::trials(const Study& study, const TrialParts& parts) {
    return consistent([&] {
        if (shape().empty) return std::vector<Trial>{};
        constexpr std::size_t many = 1000;
        std::vector<Trial> trials = reader_->heads({study.id});
        TrialParts rest = parts;
        rest.params = parts.params && trials.size() < many;
        std::future<void> params;
        PatienceOptions in_silence = patience_;
        in_silence.tell = {};  // this thread alone tells of waits
        if (rest.params != parts.params)
            params = std::async(std::launch::async | std::launch::deferred, [&] { Snapshot{path_, in_silence}.add_params(study, trials); });
        reader_->read_parts(study.id, trials, rest);
        if (params.valid()) params.get();
        return trials;
    });
}

void Snapshot::add_params(const Study& study, std::span<Trial> trials) {
    if (trials.empty()) return;
    (void)consistent([&] {
        for (Trial& trial : trials) trial.params = {};
        reader_->read_params(study.id, trials);
        return true;
    });
}

std::vector<Rejection> Snapshot::rejections(const Study& study) {
    return consistent([&] {
        return shape().has_hpo_tables ? read_rejections(*connection_, study.id, reader_->distributions()) : std::vector<Rejection>{};
    });
}

std::string Snapshot::log(const Trial& trial, int attempt) {
    return consistent([&] { return shape().has_hpo_tables ? read_log(*connection_, trial.id, attempt) : std::string{}; });
}

std::vector<Attempt> Snapshot::attempts_on(const std::string& device_name, std::size_t most) {
    constexpr std::int64_t no_study = 0;
    return consistent([&] {
        return shape().has_hpo_tables ? read_attempts_of_other_studies(*connection_, no_study, device_name, most) : std::vector<Attempt>{};
    });
}

std::vector<Run> Snapshot::runs(const Study& study) {
    return consistent([&] { return shape().has_hpo_tables ? read_runs(*connection_, study.id) : std::vector<Run>{}; });
}

std::set<std::int64_t> Snapshot::abandoned_trials(const Study& study) {
    return consistent([&] {
        std::set<std::int64_t> abandoned;
        if (!shape().has_hpo_tables) return abandoned;
        for (const auto& [id, busy] : busy_runs(*connection_, study.id)) {
            if (is_gone(busy.run, now(), heartbeat_grace_seconds)) abandoned.insert(busy.trial_ids.begin(), busy.trial_ids.end());
        }
        return abandoned;
    });
}

Snapshot::Stamp Snapshot::stamp() const {
    struct stat file {};
    struct stat log {};
    Stamp seen;
    if (stat(path_.c_str(), &file) == 0) {
        seen.size = file.st_size;
        seen.modified_nanoseconds = file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec;
    }
    seen.has_log = stat((path_ + "-wal").c_str(), &log) == 0;
    return seen;
}

void Snapshot::open() {
    require_openable(path_, false);
    opened_ = stamp();
    reader_.reset();
    connection_ =
        std::make_unique<Connection>(path_, Connection::Options{.write = false, .immutable = !opened_.has_log, .patience = patience_});
    immutable_ = !opened_.has_log && connection_->is_write_ahead();
    if (!opened_.has_log && !immutable_) {  // a file with a rollback journal; its locks must be kept
        connection_ = std::make_unique<Connection>(path_, Connection::Options{.write = false, .patience = patience_});
    }
    reader_ = std::make_unique<TrialReader>(*connection_, connection_->read([&] { return read_shape(*connection_); }));
}

template <class Work>
auto Snapshot::consistent(Work&& work) -> decltype(work()) {
    for (int tries = 0;; ++tries) {
        try {
            auto result = connection_->read(work);
            if (!immutable_ || stamp() == opened_) return result;
        } catch (const Error&) {
            if (!immutable_ || stamp() == opened_) throw;
        }
        if (tries == 5) throw Error{Errc::store, "store '" + path_ + "': changes faster than it can be read; try again"};
        open();
    }
}

}  // namespace hpo::store
