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

#include "hpo/base/process_identity.hpp"
#include "hpo/device/shared_record.hpp"

namespace hpo::device {

/// An attempt's memory in a ledger: what is reserved for it, or what it waits for.
struct LedgerEntry {
    std::int64_t pid = 0;
    std::int64_t trial = 0;  ///< a trial of one of that process's studies
    std::int64_t bytes = 0;
    bool granted = false;
    double seconds = 0;  ///< since it was asked for, or since it was granted
};

/// Reserves a device's memory for attempts, so that their predicted memory together stays within its budget. All processes on a host that
/// name the same file share one ledger. If a process dies, its entries vanish as soon as another process asks.
///
/// Older requests come first. If an older request does not fit, a younger one that fits may pass it, but only until the older one has
/// waited for its patience. After that no younger request is granted before it. Then it waits only for attempts that already run, and for
/// older requests that have also lost patience. The patience is that of the ledger object through which it was asked.
///
/// Thread safety: as SharedRecord. Each call costs one pass over the entries, and a look at /proc for each other process.
class Ledger {
public:
    static constexpr std::size_t max_entries = 512;
    enum class Answer {
        granted,
        waits,  ///< ask again; a request that is not repeated for `forgotten_seconds` no longer holds up other requests
        never   ///< more than the whole budget
    };
    struct Request {
        std::int64_t trial = 0;
        std::int64_t bytes = 0;         ///< predicted memory
        std::int64_t budget_bytes = 0;  ///< memory that all attempts on the device may have together, as the asking process sees it
    };

    static constexpr double forgotten_seconds = 60;  ///< longer than a supervisor waits for a prediction
    static constexpr std::chrono::seconds standard_patience{60};

    /// `clock` returns seconds, which must be the same for all users of the file. Throws Error{no_device} as SharedRecord does. Throws it
    /// too if the ledger belongs to processes that this one cannot see, such as those of another container.
    explicit Ledger(const std::filesystem::path& file, std::chrono::milliseconds patience = standard_patience,
                    std::function<double()> clock = host_seconds)
        : record_{file, kind}, patience_seconds_{std::chrono::duration<double>{patience}.count()}, clock_{std::move(clock)} {
        record_.with([this](Content& content) { require_same_id_space(content); });
    }

    /// Asks for an attempt's memory. Call it again until it is granted; the request keeps its place. Throws no_device if max_entries
    /// attempts are there already, and bad_value for negative bytes.
    [[nodiscard]] Answer ask(const Request& request);

    /// Raises the trial's reservation if the memory is free and no other request waits. Returns false if the reservation stays as it is.
    bool raise(const Request& request);

    /// Lowers the trial's reservation. Does nothing if it is lower already, or if there is none.
    void lower(std::int64_t trial, std::int64_t bytes);

    /// Releases the trial's reservation or withdraws its request. Does nothing if it has neither.
    void give_back(std::int64_t trial);

    /// What living processes hold and wait for, oldest request first.
    [[nodiscard]] std::vector<LedgerEntry> entries() const;
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return record_.file(); }
    /// Sets the patience of later requests of this object.
    void set_patience(std::chrono::duration<double> patience) { patience_seconds_ = patience.count(); }
    [[nodiscard]] double now() const { return clock_(); }

    /// Seconds since the host started.
    [[nodiscard]] static double host_seconds();

private:
    static constexpr RecordKind kind{0x4C45'4447'4552'0003, "a ledger"};

    struct Entry {
        std::uint64_t number;  ///< in the order of asking; 0: the entry is free. Written last
        ProcessIdentity owner;
        std::int64_t user;  ///< which ledger object of that process; each may belong to another study
        std::int64_t trial;
        std::int64_t bytes;
        double since;        ///< when it was asked for, then when it was granted, on the host's monotonic clock
        double repeated_at;  ///< when it was last asked for
        double patience;     ///< seconds
        bool granted;
    };
    struct Content {
        std::uint64_t asked = 0;
        std::uint64_t id_space = 0;  ///< identifies the process ids that the owners share
        std::array<Entry, max_entries> entries;
    };

    /// True if the entry's request is still repeated.
    [[nodiscard]] static bool asks(const Entry& entry, double now) { return now - entry.repeated_at < forgotten_seconds; }
    /// True if the entry fits beside the granted memory and beside the older requests that fit too. False if an older request that does not
    /// fit has waited for its patience.
    [[nodiscard]] static bool has_room(const Content& content, const Entry& entry, std::int64_t budget_bytes, double now);
    /// Call it before looking at owners. A ledger without entries is taken over. Throws Error{no_device} for processes that cannot be seen.
    void require_same_id_space(Content& content) const;
    /// The identity of this process. It is read once, and again after a fork. Call it inside the record.
    [[nodiscard]] const ProcessIdentity& own_identity() const {
        if (self_.pid != ::getpid()) self_ = this_process();
        return self_;
    }
    /// Frees the entries of dead owners. Asks once for each owner, because that reads a file.
    void forget_dead(Content& content) const;
    /// The trial's entry, or null.
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
