// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "hpo/core/error.hpp"
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
    [[nodiscard]] static MeteredDevice create(const std::filesystem::path& file, std::int64_t capacity_bytes) {
        if (capacity_bytes < 0) throw bad_value("device memory", std::to_string(capacity_bytes) + " bytes", "0 or more");
        MeteredDevice device{SharedRecord<Account>::make_new(file, kind, Account{.capacity_bytes = capacity_bytes})};
        device.created_ = true;
        return device;
    }
    /// Opens the account that another process made. Throws no_device when there is none or the file is something else.
    [[nodiscard]] static MeteredDevice open(const std::filesystem::path& file) {
        MeteredDevice device{SharedRecord<Account>::open(file, kind)};
        device.reclaim_dead();
        return device;
    }

    MeteredDevice(MeteredDevice&& other) noexcept
        : record_{std::move(other.record_)}, created_{std::exchange(other.created_, false)}, slot_{other.slot_} {}
    MeteredDevice& operator=(MeteredDevice&&) = delete;
    ~MeteredDevice() {
        if (created_) ::unlink(record_.file().c_str());
    }

    /// Takes bytes for this process; nothing is taken when the device has too few left, or this process may not have so many.
    /// Throws no_device when max_processes processes hold memory of it already.
    [[nodiscard]] Charge charge(std::int64_t bytes) {
        return record_.with([&](Account& account) {
            Slot& slot = own_slot(account);
            // By what is left: an absurd request, added up, would wrap around.
            if (slot.cap_bytes != no_cap && bytes > slot.cap_bytes - slot.bytes) return Charge{Charge::Answer::above_cap};
            if (bytes > account.capacity_bytes - account.used_bytes) reclaim_dead(account);
            if (bytes > account.capacity_bytes - account.used_bytes) return Charge{Charge::Answer::full};
            slot.bytes += bytes;
            account.used_bytes += bytes;
            return Charge{};
        });
    }
    /// Gives back bytes that this process took.
    void release(std::int64_t bytes) {
        record_.with([&](Account& account) {
            own_slot(account).bytes -= bytes;
            account.used_bytes -= bytes;
        });
    }

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

    [[nodiscard]] Occupancy occupancy() const {
        return record_.with([](const Account& account) {
            Occupancy occupancy{account.capacity_bytes, account.used_bytes, {}};
            for (const Slot& slot : account.slots) {
                if (slot.bytes != 0) occupancy.processes.push_back({slot.process.pid, slot.bytes});
            }
            return occupancy;
        });
    }
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
    [[nodiscard]] std::size_t index_of(Account& account, const ProcessIdentity& process) const {
        for (std::size_t pass = 0; pass < 2; ++pass) {
            std::size_t free = max_processes;
            for (std::size_t i = 0; i < max_processes; ++i) {
                if (account.slots[i].process == process) return i;
                if (account.slots[i].process.pid == 0 && free == max_processes) free = i;
            }
            if (free < max_processes) {
                account.slots[free] = Slot{.process = process};
                return free;
            }
            reclaim_dead(account);
        }
        throw Error{Errc::no_device, file().string() + ": " + std::to_string(max_processes) + " processes are on this device already"};
    }
    static std::int64_t reclaim_dead(Account& account) {
        std::int64_t reclaimed = 0;
        for (Slot& slot : account.slots) {
            if (slot.process.pid == 0 || is_alive(slot.process)) continue;
            reclaimed += slot.bytes;
            account.used_bytes -= slot.bytes;
            slot = Slot{};
        }
        return reclaimed;
    }

    SharedRecord<Account> record_;
    bool created_ = false;
    std::size_t slot_ = max_processes;
};

}  // namespace hpo::device
