// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "hpo/core/process_identity.hpp"
#include "hpo/device/occupancy.hpp"
#include "hpo/device/shared_record.hpp"

namespace hpo::device {

/// What became of a request for bytes of a metered device; true where they were given.
struct Charge {
    enum class Answer {
        taken,
        full,      ///< the device has too few left
        above_cap  ///< the process has a cap, and this would pass it
    } answer = Answer::taken;
    explicit operator bool() const noexcept { return answer == Answer::taken; }
};

/// A device without a GPU: one account of bytes in a shared file, from which every process on the device takes. The
/// supervisor creates it, workers open it; what a dead process held comes back at the next refusal, opening, or call of
/// reclaim_dead.
///
/// Thread safety: all members of one object, and of objects in several processes over one file.
///
/// Design note: a slot for each process, not one atomic number. A process may be killed between any two instructions; whoever comes next
/// adds the slots up again (SharedRecord).
class MeteredDevice {
public:
    static constexpr std::size_t max_processes = 128;

    /// Makes the account; `file` must not exist. The object that made it removes the file.
    [[nodiscard]] static MeteredDevice create(const std::filesystem::path& file, std::int64_t capacity_bytes);
    /// Opens the account that another process made. Throws no_device when there is none or the file is something else.
    [[nodiscard]] static MeteredDevice open(const std::filesystem::path& file);

    MeteredDevice(MeteredDevice&& other) noexcept
        : record_{std::move(other.record_)}, created_{std::exchange(other.created_, false)}, slot_{other.slot_} {}
    MeteredDevice& operator=(MeteredDevice&&) = delete;
    ~MeteredDevice() {
        if (created_) ::unlink(record_.file().c_str());
    }

    /// Takes bytes for this process; nothing is taken when the device has too few left, or this process may not have so many.
    /// Throws no_device when max_processes processes hold memory of it already.
    [[nodiscard]] Charge charge(std::int64_t bytes);
    /// Gives back bytes that this process took.
    void release(std::int64_t bytes);

    /// What a living process may have of the device from now on, whether it has taken any yet or not; nothing: no cap. What it has above
    /// that stays until it gives it back. Anybody on the device may say so: it is meant for the supervisor. Throws as charge.
    void set_cap(const ProcessIdentity& process, std::optional<std::int64_t> cap_bytes) {
        record_.with([&](Account& account) { account.slots[index_of(account, process)].cap_bytes = cap_bytes.value_or(no_cap); });
    }
    /// This process's cap; nothing: it has none. Throws as charge.
    [[nodiscard]] std::optional<std::int64_t> own_cap() {
        const std::int64_t cap_bytes = record_.with([this](Account& account) { return own_slot(account).cap_bytes; });
        return cap_bytes == no_cap ? std::nullopt : std::optional{cap_bytes};
    }

    [[nodiscard]] Occupancy occupancy() const;
    /// Takes back what processes that no longer live held. Returns those bytes.
    std::int64_t reclaim_dead() {
        return record_.with([](Account& account) { return reclaim_dead(account); });
    }
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return record_.file(); }

private:
    static constexpr RecordKind kind{0x3144'4D4F'5048'0002, "the account of a metered device"};
    static constexpr std::int64_t no_cap = std::numeric_limits<std::int64_t>::max();

    struct Slot {
        ProcessIdentity process;  ///< pid 0: free
        std::int64_t bytes = 0;
        std::int64_t cap_bytes = no_cap;
    };
    struct Account {
        std::int64_t capacity_bytes = 0;
        std::int64_t used_bytes = 0;  ///< the sum of the slots
        std::array<Slot, max_processes> slots{};
        void mend() {
            used_bytes = 0;
            for (const Slot& slot : slots) used_bytes += slot.bytes;
        }
    };

    explicit MeteredDevice(SharedRecord<Account> record) : record_{std::move(record)} {}

    /// Found once: an allocation should not cost a question to the system. A forked process opens the account anew.
    [[nodiscard]] Slot& own_slot(Account& account) {
        if (slot_ >= max_processes) slot_ = index_of(account, this_process());
        return account.slots[slot_];
    }
    /// The process's slot, which it gets where it has none.
    [[nodiscard]] std::size_t index_of(Account& account, const ProcessIdentity& process) const;
    static std::int64_t reclaim_dead(Account& account);

    SharedRecord<Account> record_;
    bool created_ = false;
    std::size_t slot_ = max_processes;
};

}  // namespace hpo::device

#ifndef HPO_COMPILED
#include "hpo/device/impl/metered_device_inl.hpp"
#endif
