// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/optuna_shape.hpp"
#include "hpo/store/sqlite/patience.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/sqlite/trial_reading.hpp"

namespace hpo::store {

/// A view of a store that never writes to it. It reads our files and Optuna's of any revision, also while a study runs, and also in a
/// read-only folder. Each call reads one consistent state, except for the parameters of many trials. Data that an older version did not
/// store is not known. Thread safety: one thread per object.
class Snapshot {
public:
    /// Opens the file of a path or `sqlite:///` address. Throws Error{Errc::store} or {Errc::store_schema}. With a rollback journal a
    /// writer keeps readers out. `patience` says how long each call then waits before it throws Error{Errc::store_unavailable}.
    explicit Snapshot(const std::string& address, PatienceOptions patience = {}) : path_{file_of(address)}, patience_{std::move(patience)} {
        open();
    }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// True if the file has our tables, and so attempts.
    [[nodiscard]] bool has_attempts() const { return shape().has_hpo_tables; }
    [[nodiscard]] std::vector<Study> studies();
    /// The study of this name. Throws unknown_name that lists the studies of the file.
    [[nodiscard]] Study study(const std::string& name);
    /// The trials, ordered by number, with attempts if the file has them. Reads only what `parts` asks for. The parameters of many trials
    /// are read at the same time by a second thread and connection, so they may be of a slightly later state. That is safe, because a
    /// trial's parameters change only before it runs.
    [[nodiscard]] std::vector<Trial> trials(const Study& study, const TrialParts& parts = {});
    /// Adds the parameters to trials of the study that were read without them. `trials` are ordered by number.
    void add_params(const Study& study, std::span<Trial> trials);
    [[nodiscard]] std::vector<Rejection> rejections(const Study& study);
    /// The log of an attempt. Empty if no log was kept.
    [[nodiscard]] std::string log(const Trial& trial, int attempt);
    /// The latest attempts of all studies that were predicted and have ended on a device of this name, oldest first.
    [[nodiscard]] std::vector<Attempt> attempts_on(const std::string& device_name, std::size_t most);
    /// The processes that have worked on the study, each with its last sign of life.
    [[nodiscard]] std::vector<Run> runs(const Study& study);

    /// The keys of the study's RUNNING trials whose run is gone. The next run of the study will end them.
    [[nodiscard]] std::set<std::int64_t> abandoned_trials(const Study& study);

private:
    /// What the file looked like. If it differs later, another process wrote to it.
    struct Stamp {
        std::int64_t size = 0;
        std::int64_t modified_nanoseconds = 0;
        bool has_log = false;
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    [[nodiscard]] Stamp stamp() const;
    /// Opens the file. If no process has a file in write-ahead mode open, it has no log. SQLite would make one, unless it is told that the
    /// file is immutable. If there is a log, the file must not be opened as immutable, because that would hide what the log holds.
    void open();
    [[nodiscard]] const OptunaShape& shape() const { return reader_->shape(); }

    /// Reads. If a file that was opened as immutable has changed meanwhile, opens it again and reads again.
    template <class Work>
    auto consistent(Work&& work) -> decltype(work());

    std::string path_;
    PatienceOptions patience_;
    Stamp opened_;
    bool immutable_ = false;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<TrialReader> reader_;
};

}  // namespace hpo::store
