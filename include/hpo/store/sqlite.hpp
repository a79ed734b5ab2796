// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/patience.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/sqlite/trial_count.hpp"
#include "hpo/store/sqlite/trial_sync.hpp"
#include "hpo/store/sqlite/trial_writing.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

/// How long a call waits for other writers, or for trouble of the disk to pass, before it throws Error{store_unavailable}.
using SqliteOptions = PatienceOptions;

/// Studies in an SQLite file that Optuna reads and writes too. It has Optuna's tables, and ours beside them (docs/store.md,
/// docs/development/store-layout.md). Files that Optuna made keep their revision. Every call is one transaction.
/// Thread safety: one thread per object. Any number of objects and processes may share a file.
class Sqlite final : public Store {
public:
    /// Opens, or makes, the file of a path or `sqlite:///` address.
    explicit Sqlite(const std::string& address, const SqliteOptions& options = {});

    /// Gives a file that another program made its own kind of journal back, so that a copy of the file alone is whole. If another process
    /// has the file open, it keeps hpo's. Call it last.
    void give_back_journal();

    Study open_study(const std::string& name, std::span<const Direction> directions, Open mode) override;
    [[nodiscard]] std::vector<Study> studies() override {
        return connection_->read([&] { return reader_->studies(); });
    }
    void delete_study(std::int64_t study_id) override;
    void set_study_user_attribute(std::int64_t study_id, const std::string& key, const std::string& json) override;
    void set_study_system_attribute(std::int64_t study_id, const std::string& key, const std::string& json) override;

    bool refresh(std::int64_t study_id, std::vector<Trial>& trials) override;
    [[nodiscard]] std::vector<Rejection> rejections(std::int64_t study_id) override {
        return connection_->read([&] { return read_rejections(*connection_, study_id, reader_->distributions()); });
    }
    [[nodiscard]] std::vector<Attempt> attempts_of_other_studies(std::int64_t study_id, const std::string& device_name,
                                                                 std::size_t most) override;

    Trial begin_trial(std::int64_t study_id, std::optional<std::int64_t> run_id) override;
    std::optional<Trial> begin_trial_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota) override;
    std::optional<Trial> begin_retry_within(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota,
                                            const Trial& lost, std::optional<std::int64_t> last_kept) override;
    using Store::enqueue;
    Trial enqueue(std::int64_t study_id, const std::vector<std::pair<std::string, Value>>& fixed,
                  const Attributes& system_attributes) override;
    void set_params(const Trial& trial) override;
    void begin_attempt(const Trial& trial, const Attempt& attempt) override { store_attempt(trial, attempt); }
    void end_attempt(const Trial& trial, const Attempt& attempt) override { store_attempt(trial, attempt); }
    void report(const Trial& trial, const Report& report) override;
    void restart_reports(const Trial& trial, const Attempt& superseded, std::optional<std::int64_t> last_kept) override;
    void memory_mark(const Trial& trial, int attempt, const MemoryMark& mark) override;
    void keep_log(const Trial& trial, int attempt, const std::string& text) override;
    void add_to_log(const Trial& trial, int attempt, const std::string& text) override;
    [[nodiscard]] std::string log(const Trial& trial, int attempt) override;
    void finish(const Trial& trial) override;
    void reject(std::int64_t study_id, const Rejection& rejection) override;

    [[nodiscard]] bool can_keep(std::string_view json) const override { return is_json(json); }
    Run begin_run(std::int64_t study_id, Run run) override;
    void heartbeat(const Run& run) override;
    void end_run(const Run& run) override;
    std::size_t settle_lost_trials(std::int64_t study_id, double grace_seconds) override;

    /// How the constraints of trials that end from now on are written [ConstraintFormat::every_version].
    void write_constraints_as(ConstraintFormat format) noexcept { constraint_format_ = format; }
    /// The file's path, for messages and for opening the file again.
    [[nodiscard]] const std::string& path() const noexcept { return connection_->path(); }
    /// What happened to the file since it was opened, such as "was removed". Returns nullopt if it is in its place. Heartbeats and the
    /// begin of a trial ask this, and throw.
    [[nodiscard]] std::optional<std::string> displaced() const { return connection_->displaced(); }
    /// Throws if the file is no longer in its place. What is written to it would then be lost.
    void require_in_place() const;
    /// Writes all that is stored to a new file, even if the store's own file was removed. Throws if there is a file of that name.
    void copy_to(const std::string& path);

private:
    /// Drops everything that is remembered of a study, because SQLite gives the id of a deleted study to a new one.
    void forget(std::int64_t study_id);
    [[nodiscard]] TimeZone zone() const { return reader_->shape().zone; }
    void require_study(std::int64_t study_id);
    /// True if the quota allows another trial. Call it inside Connection::write.
    bool has_room(std::int64_t study_id, std::optional<std::int64_t> run_id, const Quota& quota);
    /// Call it inside Connection::write.
    Trial take_trial(std::int64_t study_id, std::optional<std::int64_t> run_id);
    /// Throws if this object may not change the trial. If another process deleted a study, its trials' ids are used again. So the run tells
    /// our trial from a later one with the same id.
    void require_running(const Trial& trial);
    void require_attempt(const Trial& trial, int attempt);
    void require_begun(const Trial& trial, int attempt);
    /// A trial waits from its creation or never. So trials that did not wait at the last look are not looked at again.
    std::optional<std::int64_t> oldest_waiting(std::int64_t study_id);
    void store_attempt(const Trial& trial, const Attempt& attempt);
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<TrialReader> reader_;
    std::string place_;
    TrialSync sync_;
    std::map<std::int64_t, std::string> names_;               ///< of the studies opened here
    std::map<std::int64_t, std::int64_t> not_waiting_up_to_;  ///< by study: a trial id
    std::map<std::int64_t, TrialCount> counts_;               ///< by study
    RunWatch watch_;
    std::unordered_map<std::int64_t, std::optional<std::int64_t>> owned_;  ///< trials begun by this object and not finished, with their run
    ConstraintFormat constraint_format_ = ConstraintFormat::every_version;
    std::uint64_t own_changes_ = 0;  ///< counts changes of this object that a caller's list does not show
};

}  // namespace hpo::store
