// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "hpo/base/process_identity.hpp"
#include "hpo/device/occupancy.hpp"
#include "hpo/device/shared_record.hpp"

namespace hpo::device {

/// The answer to a request for bytes of a metered device. It is true if the bytes were given.
struct Charge {
    enum class Answer {
        taken,
        full,      ///< the device has too few bytes left
        above_cap  ///< the request would exceed the cap of the process
    } answer = Answer::taken;
    explicit operator bool() const noexcept { return answer == Answer::taken; }
};

/// A device without a GPU: one account of bytes in a shared file, from which every process on the device takes. The supervisor creates it,
/// and workers open it. The bytes of a dead process come back at the next refusal, opening, or call of reclaim_dead.
///
/// Thread safety: several threads may use one object, and several processes one file.
///
/// Design note: it has a slot for each process, not one atomic number. A process may be killed between any two instructions. The next
/// process then adds the slots up again (SharedRecord).
class MeteredDevice {
public:
    static constexpr std::size_t max_processes = 128;

    /// Makes the account. `file` must not exist. The object that made it removes the file.
    [[nodiscard]] static MeteredDevice create(const std::filesystem::path& file, std::int64_t capacity_bytes);
    /// Opens the account that another process made. Throws no_device if there is none, or if the file is something else.
    [[nodiscard]] static MeteredDevice open(const std::filesystem::path& file);

    MeteredDevice(MeteredDevice&& other) noexcept
        : record_{std::move(other.record_)}, created_{std::exchange(other.created_, false)}, slot_{other.slot_} {}
    MeteredDevice& operator=(MeteredDevice&&) = delete;
    ~MeteredDevice() {
        if (created_) ::unlink(record_.file().c_str());
    }

    /// Takes bytes for this process. Takes none if the device has too few left, or if the process's cap does not allow it. Throws no_device
    /// if max_processes processes already hold memory of the device.
    [[nodiscard]] Charge charge(std::int64_t bytes);
    /// Gives back bytes that this process took.
    void release(std::int64_t bytes);

    /// Sets the cap of a living process, or removes it if nullopt. The process need not have taken any memory yet. Memory above the cap
    /// stays until the process releases it. Meant for the supervisor, though any process on the device may call it. Throws as charge.
    void set_cap(const ProcessIdentity& process, std::optional<std::int64_t> cap_bytes) {
        record_.with([&](Account& account) { account.slots[index_of(account, process)].cap_bytes = cap_bytes.value_or(no_cap); });
    }
    /// The cap of this process, or nullopt if it has none. Throws as charge.
    [[nodiscard]] std::optional<std::int64_t> own_cap() {
        const std::int64_t cap_bytes = record_.with([this](Account& account) { return own_slot(account).cap_bytes; });
        return cap_bytes == no_cap ? std::nullopt : std::optional{cap_bytes};
    }

    [[nodiscard]] Occupancy occupancy() const;
    /// Takes back the memory of dead processes. Returns how many bytes that were.
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

    /// This process's slot. It is looked up once, so that an allocation costs no system call. A forked process must open the account
    /// itself.
    [[nodiscard]] Slot& own_slot(Account& account) {
        if (slot_ >= max_processes) slot_ = index_of(account, this_process());
        return account.slots[slot_];
    }
    /// The index of the process's slot. Gives it one if it has none.
    [[nodiscard]] std::size_t index_of(Account& account, const ProcessIdentity& process) const;
    static std::int64_t reclaim_dead(Account& account);

    SharedRecord<Account> record_;
    bool created_ = false;
    std::size_t slot_ = max_processes;
};

}  // namespace hpo::device
