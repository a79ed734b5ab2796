// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/process_identity.hpp"

namespace hpo::device {

/// Who holds how much of a metered device, at one moment.
struct Occupancy {
    std::int64_t capacity_bytes = 0;
    std::int64_t used_bytes = 0;
    std::vector<MemoryNeighbour> processes;  ///< those that hold something
};

/// A device without a GPU: one account of bytes in a shared file, from which every process on the device takes. The
/// supervisor creates it, workers open it; what a dead process held comes back at the next refusal, opening, or call of
/// reclaim_dead.
///
/// Thread safety: all members of one object, and of objects in several processes over one file.
///
/// Design note: a robust mutex and a slot for each process, not one atomic number. A process may be killed between any
/// two instructions; whoever takes the mutex next is told so and adds the slots up again.
class MeteredDevice {
public:
    static constexpr std::size_t max_processes = 128;

    /// Makes the account; `file` must not exist. The object that made it removes the file.
    [[nodiscard]] static MeteredDevice create(const std::filesystem::path& file, std::int64_t capacity_bytes) {
        if (capacity_bytes < 0) throw bad_value("device memory", std::to_string(capacity_bytes) + " bytes", "0 or more");
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (descriptor < 0) throw cannot("create", file);
        MeteredDevice device;
        device.file_ = file;
        if (::ftruncate(descriptor, sizeof(Account)) != 0 || !device.map(descriptor)) {
            Error error = cannot("create", file);  // while errno tells why
            ::unlink(file.c_str());
            throw Error{std::move(error)};
        }
        device.created_ = true;
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&device.account_->mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
        device.account_->capacity_bytes = capacity_bytes;
        device.account_->magic = magic;
        return device;
    }

    /// Opens the account that another process made. Throws no_device when there is none or the file is something else.
    [[nodiscard]] static MeteredDevice open(const std::filesystem::path& file) {
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
        if (descriptor < 0) throw cannot("open", file);
        struct ::stat status {};
        const bool whole = ::fstat(descriptor, &status) == 0 && status.st_size == static_cast<off_t>(sizeof(Account));
        MeteredDevice device;
        device.file_ = file;
        if (!whole) {
            ::close(descriptor);
            throw Error{Errc::no_device, file.string() + ": not the account of a metered device"};
        }
        if (!device.map(descriptor)) throw cannot("open", file);
        if (device.account_->magic != magic) throw Error{Errc::no_device, file.string() + ": not the account of a metered device"};
        device.reclaim_dead();
        return device;
    }

    MeteredDevice(MeteredDevice&& other) noexcept
        : file_{std::move(other.file_)},
          account_{std::exchange(other.account_, nullptr)},
          created_{std::exchange(other.created_, false)},
          self_{other.self_},
          slot_{other.slot_} {}
    MeteredDevice& operator=(MeteredDevice&&) = delete;
    ~MeteredDevice() {
        if (account_) ::munmap(account_, sizeof(Account));
        if (created_) ::unlink(file_.c_str());
    }

    /// Takes bytes for this process; false, and nothing taken, when the device has too few left.
    /// Throws no_device when max_processes processes hold memory of it already.
    [[nodiscard]] bool charge(std::int64_t bytes) {
        const Lock lock{*account_};
        if (account_->used_bytes + bytes > account_->capacity_bytes) reclaim_dead_locked();
        if (account_->used_bytes + bytes > account_->capacity_bytes) return false;
        own_slot().bytes += bytes;
        account_->used_bytes += bytes;
        return true;
    }
    /// Gives back bytes that this process took.
    void release(std::int64_t bytes) {
        const Lock lock{*account_};
        own_slot().bytes -= bytes;
        account_->used_bytes -= bytes;
    }
    [[nodiscard]] Occupancy occupancy() const {
        const Lock lock{*account_};
        Occupancy occupancy{account_->capacity_bytes, account_->used_bytes, {}};
        for (const Slot& slot : account_->slots) {
            if (slot.bytes != 0) occupancy.processes.push_back({slot.process.pid, slot.bytes});
        }
        return occupancy;
    }
    /// Takes back what processes that no longer live held. Returns those bytes.
    std::int64_t reclaim_dead() {
        const Lock lock{*account_};
        return reclaim_dead_locked();
    }
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

private:
    static constexpr std::uint64_t magic = 0x3144'4D4F'5048'0001;  // layout 1

    struct Slot {
        ProcessIdentity process;  ///< pid 0: free
        std::int64_t bytes = 0;
    };
    struct Account {
        std::uint64_t magic;
        std::int64_t capacity_bytes;
        std::int64_t used_bytes;  ///< the sum of the slots
        pthread_mutex_t mutex;
        std::array<Slot, max_processes> slots;
    };
    /// Holds the account's mutex; after a holder's death adds the slots up again.
    struct Lock {
        explicit Lock(Account& locked) : account{locked} {
            if (pthread_mutex_lock(&account.mutex) != EOWNERDEAD) return;
            account.used_bytes = 0;
            for (const Slot& slot : account.slots) account.used_bytes += slot.bytes;
            pthread_mutex_consistent(&account.mutex);
        }
        ~Lock() { pthread_mutex_unlock(&account.mutex); }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        Account& account;
    };

    MeteredDevice() = default;

    static Error cannot(const char* act, const std::filesystem::path& file) {
        return Error{Errc::no_device, file.string() + ": cannot " + act + " the account of a metered device: " + std::strerror(errno)};
    }
    bool map(int descriptor) {
        void* const memory = ::mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        ::close(descriptor);
        if (memory == MAP_FAILED) return false;
        account_ = static_cast<Account*>(memory);
        return true;
    }
    Slot& own_slot() {
        if (slot_ < max_processes) return account_->slots[slot_];
        self_ = this_process();
        for (std::size_t pass = 0; pass < 2; ++pass) {
            std::size_t free = max_processes;
            for (std::size_t i = 0; i < max_processes; ++i) {
                if (account_->slots[i].process == self_) return account_->slots[slot_ = i];
                if (account_->slots[i].process.pid == 0 && free == max_processes) free = i;
            }
            if (free < max_processes) {
                account_->slots[free] = Slot{self_, 0};
                return account_->slots[slot_ = free];
            }
            reclaim_dead_locked();
        }
        throw Error{Errc::no_device, file_.string() + ": " + std::to_string(max_processes) + " processes are on this device already"};
    }
    std::int64_t reclaim_dead_locked() {
        std::int64_t reclaimed = 0;
        for (Slot& slot : account_->slots) {
            if (slot.process.pid == 0 || is_alive(slot.process)) continue;
            reclaimed += slot.bytes;
            account_->used_bytes -= slot.bytes;
            slot = Slot{};
        }
        return reclaimed;
    }

    std::filesystem::path file_;
    Account* account_ = nullptr;
    bool created_ = false;
    ProcessIdentity self_;
    std::size_t slot_ = max_processes;
};

}  // namespace hpo::device
