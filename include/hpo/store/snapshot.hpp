// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/optuna_shape.hpp"
#include "hpo/store/run_liveness.hpp"
#include "hpo/store/sqlite_connection.hpp"
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
    [[nodiscard]] std::vector<Study> studies();
    /// The study of this name; throws unknown_name, which lists those that are there.
    [[nodiscard]] Study study(const std::string& name);
    /// Ordered by number; with attempts where the file has them. Only what `parts` asks for is read. The parameters of many trials are read
    /// beside the rest, by a thread and a connection of their own. They may be of a slightly later state. A trial's parameters change only
    /// before it runs.
    [[nodiscard]] std::vector<Trial> trials(const Study& study, const TrialParts& parts = {});
    /// Adds the parameters to trials of the study that were read without them, ordered by number.
    void add_params(const Study& study, std::span<Trial> trials);
    [[nodiscard]] std::vector<Rejection> rejections(const Study& study);
    /// What an attempt wrote; empty: nothing is kept of it.
    [[nodiscard]] std::string log(const Trial& trial, int attempt);
    /// The latest attempts of all studies that were predicted and have ended on a device of this name, from the oldest.
    [[nodiscard]] std::vector<Attempt> attempts_on(const std::string& device_name, std::size_t most);
    /// The processes that have worked on the study, with their last signs of life.
    [[nodiscard]] std::vector<KnownRun> runs(const Study& study);

    /// The keys of the study's RUNNING trials whose run is gone: the next run of the study ends them.
    [[nodiscard]] std::set<std::int64_t> abandoned_trials(const Study& study);

private:
    /// What the file looked like: a later difference means that somebody wrote to it.
    struct Stamp {
        std::int64_t size = 0;
        std::int64_t modified_nanoseconds = 0;
        bool has_log = false;
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    [[nodiscard]] Stamp stamp() const;
    /// A file in write-ahead mode that nobody has open lacks its log; SQLite would make one, unless it is told that the file
    /// cannot change. Where there is a log, that promise would hide what is in it.
    void open();
    [[nodiscard]] const OptunaShape& shape() const { return reader_->shape(); }

    /// Reads, and when a file that was promised to be unchanging has changed meanwhile, opens it anew and reads again.
    template <class Work>
    auto consistent(Work&& work) -> decltype(work());

    std::string path_;
    Stamp opened_;
    bool immutable_ = false;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<TrialReader> reader_;
};

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/snapshot_inl.hpp"
#endif
