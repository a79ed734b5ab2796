// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <future>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/store/attempts_elsewhere.hpp"
#include "hpo/store/hpo_layout.hpp"
#include "hpo/store/lost_trials.hpp"
#include "hpo/store/optuna_shape.hpp"
#include "hpo/store/run_liveness.hpp"
#include "hpo/store/sqlite_connection.hpp"
#include "hpo/store/stored_logs.hpp"
#include "hpo/store/trial_reading.hpp"

namespace hpo::store {

/// A view of a store that never writes to it: our files and Optuna's of any revision, also while a study runs, also in a
/// read-only directory. Each call reads one consistent state, but for the parameters of many trials. What the version that made the file
/// did not store is not known. Thread safety: one thread an object.
class Snapshot {
public:
    /// Opens the file of a path or `sqlite:///` address. Throws Error{Errc::store} or {Errc::store_schema}.
    explicit Snapshot(const std::string& address) : path_{file_of(address)} { open(); }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Whether the file has our tables, with attempts.
    [[nodiscard]] bool has_attempts() const { return shape().has_hpo_tables; }
    [[nodiscard]] std::vector<Study> studies() {
        return consistent([&] { return shape().empty ? std::vector<Study>{} : reader_->studies(); });
    }
    /// The study of this name; throws unknown_name, which lists those that are there.
    [[nodiscard]] Study study(const std::string& name) {
        std::vector<std::string> names;
        for (Study& study : studies()) {
            if (study.name == name) return std::move(study);
            names.push_back(study.name);
        }
        throw unknown_name("store '" + path_ + "'", "study", name, names);
    }
    /// Ordered by number; with attempts where the file has them. Only what `parts` asks for is read. The parameters of many trials are read
    /// beside the rest, by a thread and a connection of their own. They may be of a slightly later state. A trial's parameters change only
    /// before it runs.
    [[nodiscard]] std::vector<Trial> trials(const Study& study, const TrialParts& parts = {}) {
        return consistent([&] {
            if (shape().empty) return std::vector<Trial>{};
            constexpr std::size_t many = 1000;
            std::vector<Trial> trials = reader_->heads({study.id});
            TrialParts rest = parts;
            rest.params = parts.params && trials.size() < many;
            std::future<void> params;
            if (rest.params != parts.params)
                params = std::async(std::launch::async | std::launch::deferred, [&] { Snapshot{path_}.add_params(study, trials); });
            reader_->read_parts(study.id, trials, rest);
            if (params.valid()) params.get();
            return trials;
        });
    }
    /// Adds the parameters to trials of the study that were read without them, ordered by number.
    void add_params(const Study& study, std::span<Trial> trials) {
        if (trials.empty()) return;
        (void)consistent([&] {
            for (Trial& trial : trials) trial.params = {};
            reader_->read_params(study.id, trials);
            return true;
        });
    }
    [[nodiscard]] std::vector<Rejection> rejections(const Study& study) {
        return consistent([&] {
            return shape().has_hpo_tables ? read_rejections(*connection_, study.id, reader_->distributions()) : std::vector<Rejection>{};
        });
    }
    /// What an attempt wrote; empty: nothing is kept of it.
    [[nodiscard]] std::string log(const Trial& trial, int attempt) {
        return consistent([&] { return shape().has_hpo_tables ? read_log(*connection_, trial.id, attempt) : std::string{}; });
    }
    /// The latest attempts of all studies that were predicted and have ended on a device of this name, from the oldest.
    [[nodiscard]] std::vector<Attempt> attempts_on(const std::string& device_name, std::size_t most) {
        constexpr std::int64_t no_study = 0;
        return consistent([&] {
            return shape().has_hpo_tables ? read_attempts_elsewhere(*connection_, no_study, device_name, most) : std::vector<Attempt>{};
        });
    }
    /// The processes that have worked on the study, with their last signs of life.
    [[nodiscard]] std::vector<KnownRun> runs(const Study& study) {
        return consistent([&] {
            std::vector<KnownRun> runs;
            if (!shape().has_hpo_tables) return runs;
            Rows row = connection_->query(
                "SELECT run_id, host, pid, started_ticks, configuration, heartbeat_at, ended_at FROM hpo_runs WHERE study_id = ?1 ORDER BY "
                "run_id",
                study.id);
            while (row.next()) {
                runs.push_back({{row.integer(0), row.text(1), row.integer(2), row.text(3), row.text(4)},
                                parse_time(row.text(5)).value_or(Time{}),
                                !row.is_null(6)});
            }
            return runs;
        });
    }

    /// The keys of the study's RUNNING trials whose run is gone: the next run of the study ends them.
    [[nodiscard]] std::set<std::int64_t> abandoned_trials(const Study& study) {
        return consistent([&] {
            std::set<std::int64_t> abandoned;
            if (!shape().has_hpo_tables) return abandoned;
            for (const auto& [id, busy] : busy_runs(*connection_, study.id)) {
                if (is_gone(busy.known, now(), heartbeat_grace_seconds)) abandoned.insert(busy.trial_ids.begin(), busy.trial_ids.end());
            }
            return abandoned;
        });
    }

private:
    /// What the file looked like: a later difference means that somebody wrote to it.
    struct Stamp {
        std::int64_t size = 0;
        std::int64_t modified_nanoseconds = 0;
        bool has_log = false;
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    [[nodiscard]] Stamp stamp() const {
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
    /// A file in write-ahead mode that nobody has open lacks its log; SQLite would make one, unless it is told that the file
    /// cannot change. Where there is a log, that promise would hide what is in it.
    void open() {
        require_openable(path_, false);
        opened_ = stamp();
        reader_.reset();
        connection_ = std::make_unique<Connection>(path_, Connection::Options{.write = false, .immutable = !opened_.has_log});
        immutable_ = !opened_.has_log && connection_->is_write_ahead();
        if (!opened_.has_log && !immutable_) {  // a file with a rollback journal: its locks are to be kept
            connection_ = std::make_unique<Connection>(path_, Connection::Options{.write = false});
        }
        reader_ = std::make_unique<TrialReader>(*connection_, connection_->read([&] {
            OptunaShape shape = read_shape(*connection_);
            if (shape.has_hpo_tables) bridge_missing(*connection_);
            return shape;
        }));
    }
    [[nodiscard]] const OptunaShape& shape() const { return reader_->shape(); }

    /// Reads, and when a file that was promised to be unchanging has changed meanwhile, opens it anew and reads again.
    template <class Work>
    auto consistent(Work&& work) -> decltype(work()) {
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

    std::string path_;
    Stamp opened_;
    bool immutable_ = false;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<TrialReader> reader_;
};

}  // namespace hpo::store
