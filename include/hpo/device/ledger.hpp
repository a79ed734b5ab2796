// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "hpo/core/process_identity.hpp"
#include "hpo/device/shared_record.hpp"

namespace hpo::device {

/// An attempt's memory in a ledger: what it was promised, or what it waits for.
struct LedgerEntry {
    std::int64_t pid = 0;
    std::int64_t trial = 0;  ///< of one of that process's studies
    std::int64_t bytes = 0;
    bool granted = false;
    double seconds = 0;  ///< since it was asked for, or granted
};

/// Which attempts may be on a device at a time: those whose predicted needs together are within its budget. All processes on a host that
/// name the same file share it; what a process that died held or waited for is gone at the next question of any other.
///
/// Who asks first is served first; a request that fits passes older ones that do not, until one of those has waited for its patience, which
/// is that of the ledger it was asked through: from then on nothing younger is granted before it. So a request waits at most for its
/// patience and, after it, the longest that an attempt which is granted by then still runs, for each aged request before it.
///
/// Thread safety: as of SharedRecord. A question costs one pass over the entries, and a look at /proc for each other process.
class Ledger {
public:
    static constexpr std::size_t max_entries = 512;
    enum class Answer {
        granted,
        waits,  ///< ask again; a request that is not repeated for `forgotten_seconds` holds nobody up
        never   ///< more than the whole budget
    };
    struct Request {
        std::int64_t trial = 0;
        std::int64_t bytes = 0;         ///< predicted need
        std::int64_t budget_bytes = 0;  ///< what all attempts on the device may have together, as the asking process sees it
    };

    static constexpr double forgotten_seconds = 60;  ///< longer than a supervisor waits for a prediction
    static constexpr std::chrono::seconds standard_patience{60};

    /// `clock` tells seconds that all who use the file share. Throws Error{no_device} as SharedRecord does, and for a ledger of processes
    /// that this one cannot see, as those of another container.
    explicit Ledger(const std::filesystem::path& file, std::chrono::milliseconds patience = standard_patience,
                    std::function<double()> clock = host_seconds)
        : record_{file, kind}, patience_seconds_{std::chrono::duration<double>{patience}.count()}, clock_{std::move(clock)} {
        record_.with([this](Content& content) { require_same_id_space(content); });
    }

    /// Asks for an attempt's memory, again and again until it is granted; repeating the question keeps its place. Throws no_device when
    /// max_entries attempts are there already, and bad_value for negative bytes.
    [[nodiscard]] Answer ask(const Request& request);

    /// Raises what the trial was promised, where the room for it is free and nobody waits for any. False: it stays as it is.
    bool raise(const Request& request);

    /// Lowers what the trial was promised; nothing happens where it was promised less, or nothing.
    void lower(std::int64_t trial, std::int64_t bytes);

    /// Ends what was asked for the trial; nothing happens when nothing was.
    void give_back(std::int64_t trial);

    /// What living processes hold and wait for, in the order of asking.
    [[nodiscard]] std::vector<LedgerEntry> entries() const;
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return record_.file(); }
    /// For requests of this object from now on.
    void set_patience(std::chrono::duration<double> patience) { patience_seconds_ = patience.count(); }
    [[nodiscard]] double now() const { return clock_(); }

    /// Seconds since the host started.
    [[nodiscard]] static double host_seconds();

private:
    static constexpr RecordKind kind{0x4C45'4447'4552'0003, "a ledger"};

    struct Entry {
        std::uint64_t number;  ///< in the order of asking; 0: free. Written last
        ProcessIdentity owner;
        std::int64_t user;  ///< of that process's ledgers: each may be another study's
        std::int64_t trial;
        std::int64_t bytes;
        double since;        ///< when it was asked for, then when it was granted, on the host's monotonic clock
        double repeated_at;  ///< when it was last asked for
        double patience;     ///< seconds
        bool granted;
    };
    struct Content {
        std::uint64_t asked = 0;
        std::uint64_t id_space = 0;  ///< of the owners
        std::array<Entry, max_entries> entries;
    };

    /// Whether somebody still waits for what the entry asks.
    [[nodiscard]] static bool asks(const Entry& entry, double now) { return now - entry.repeated_at < forgotten_seconds; }
    /// Whether the entry fits beside what is granted and beside those older ones that fit, too; and none of the others is aged.
    [[nodiscard]] static bool has_room(const Content& content, const Entry& entry, std::int64_t budget_bytes, double now);
    /// Call it before looking at owners. A ledger that nobody has a part in is taken over.
    void require_same_id_space(Content& content) const;
    /// Of this process, also after a fork; read once. Call it inside the record.
    [[nodiscard]] const ProcessIdentity& own_identity() const {
        if (self_.pid != ::getpid()) self_ = this_process();
        return self_;
    }
    /// Asks of each owner once whether it lives: that is a file to be read.
    void forget_dead(Content& content) const;
    /// Null: none.
    [[nodiscard]] Entry* own_entry(Content& content, std::int64_t trial) const;
    [[nodiscard]] Entry& entry_of(Content& content, std::int64_t trial, double now) const;
    [[nodiscard]] static std::int64_t next_user() {
        static std::atomic<std::int64_t> made{0};
        return made++;
    }

    SharedRecord<Content> record_;
    double patience_seconds_;
    std::function<double()> clock_;
    std::int64_t user_ = next_user();
    std::uint64_t id_space_ = process_id_space();
    mutable ProcessIdentity self_;
};

}  // namespace hpo::device

#ifndef HPO_COMPILED
#include "hpo/device/impl/ledger_inl.hpp"
#endif
