// SPDX-License-Identifier: MIT
#include "hpo/device/metered_device.hpp"

#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "hpo/base/error.hpp"

namespace hpo::device {

MeteredDevice MeteredDevice::create(const std::filesystem::path& file, std::int64_t capacity_bytes) {
    if (capacity_bytes < 0) throw bad_value("device memory", std::to_string(capacity_bytes) + " bytes", "0 or more");
    MeteredDevice device{SharedRecord<Account>::make_new(file, kind, Account{.capacity_bytes = capacity_bytes})};
    device.created_ = true;
    return device;
}

MeteredDevice MeteredDevice::open(const std::filesystem::path& file) {
    MeteredDevice device{SharedRecord<Account>::open(file, kind)};
    device.reclaim_dead();
    return device;
}

Charge MeteredDevice::charge(std::int64_t bytes) {
    return record_.with([&](Account& account) {
        Slot& slot = own_slot(account);
        // Compares with what is left, because adding a huge request would overflow.
        if (slot.cap_bytes != no_cap && bytes > slot.cap_bytes - slot.bytes) return Charge{Charge::Answer::above_cap};
        if (bytes > account.capacity_bytes - account.used_bytes) reclaim_dead(account);
        if (bytes > account.capacity_bytes - account.used_bytes) return Charge{Charge::Answer::full};
        slot.bytes += bytes;
        account.used_bytes += bytes;
        return Charge{};
    });
}

void MeteredDevice::release(std::int64_t bytes) {
    record_.with([&](Account& account) {
        own_slot(account).bytes -= bytes;
        account.used_bytes -= bytes;
    });
}

Occupancy MeteredDevice::occupancy() const {
    return record_.with([](const Account& account) {
        Occupancy occupancy{account.capacity_bytes, account.used_bytes, {}};
        for (const Slot& slot : account.slots) {
            if (slot.bytes != 0) occupancy.processes.push_back({slot.process.pid, slot.bytes});
        }
        return occupancy;
    });
}

std::size_t MeteredDevice::index_of(Account& account, const ProcessIdentity& process) const {
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

std::int64_t MeteredDevice::reclaim_dead(Account& account) {
    std::int64_t reclaimed = 0;
    for (Slot& slot : account.slots) {
        if (slot.process.pid == 0 || is_alive(slot.process)) continue;
        reclaimed += slot.bytes;
        account.used_bytes -= slot.bytes;
        slot = Slot{};
    }
    return reclaimed;
}

}  // namespace hpo::device
