// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace hpo::virtual_card {

namespace {

/// Device addresses. Nothing can be read or written there.
constexpr std::size_t space_bytes = std::size_t{1} << 44;

std::uintptr_t space() {
    static const std::uintptr_t begin = [] {
        void* const all = ::mmap(nullptr, space_bytes + page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) {
            std::fprintf(stderr, "hpo virtual card: error: no address space for device memory: %s; expected 16 TiB, so no `ulimit -v`\n",
                         std::strerror(errno));
            ::_exit(2);
        }
        return (reinterpret_cast<std::uintptr_t>(all) + page_bytes - 1) / page_bytes * page_bytes;
    }();
    return begin;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace

/// The shared part of a ledger.
struct Ledger::Table {
    static constexpr std::size_t most_processes = 256;
    std::array<ProcessUse, most_processes> uses{};

    /// The row of a process, a free one if it has none; nullptr if the table is full.
    [[nodiscard]] ProcessUse* row(int process) {
        ProcessUse* unused = nullptr;
        for (ProcessUse& each : uses) {
            if (each.process == process) return &each;
            if (each.process == 0 && unused == nullptr) unused = &each;
        }
        if (unused != nullptr) *unused = {.process = process};
        return unused;
    }
    void forget_dead() {
        for (ProcessUse& each : uses) {
            if (each.process != 0 && ::kill(each.process, 0) != 0 && errno == ESRCH) each = {};
        }
    }
    [[nodiscard]] std::int64_t taken(int card) const {
        std::int64_t sum = 0;
        for (const ProcessUse& each : uses) sum += each.bytes[static_cast<std::size_t>(card)];
        return sum;
    }
};

Ledger::Ledger(std::string state, std::int64_t card_bytes, std::vector<int> places)
    : card_bytes_{card_bytes}, places_{std::move(places)}, path_{std::move(state)} {
    if (path_.empty()) {
        table_ = new Table;
        return;
    }
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* mapped = MAP_FAILED;
    if (file_ >= 0 && ::ftruncate(file_, sizeof(Table)) == 0)
        mapped = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) {
        std::fprintf(stderr, "hpo virtual card: error: %s: %s; expected a file that can be written (state=)\n", path_.c_str(),
                     std::strerror(errno));
        ::_exit(2);
    }
    table_ = static_cast<Table*>(mapped);
}

Ledger::~Ledger() {
    if (file_ < 0) {
        delete table_;
    } else {
        ::munmap(table_, sizeof(Table));
        ::close(file_);
    }
}

template <class Work>
auto Ledger::locked(const Work& work) {
    const std::lock_guard lock{mutex_};
    // A lock belongs to an open file. After a fork, parent and child would share it, so it is opened anew.
    const int own = file_ < 0 ? -1 : ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    if (own >= 0) {
        while (::flock(own, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    auto result = work();
    if (own >= 0) ::close(own);
    return result;
}

bool Ledger::take(int card, std::int64_t bytes) {
    return locked([&] {
        table_->forget_dead();
        if (table_->taken(place(card)) + bytes > card_bytes_) return false;
        ProcessUse* const row = table_->row(::getpid());
        if (row == nullptr) return false;
        row->bytes[static_cast<std::size_t>(place(card))] += bytes;
        return true;
    });
}

void Ledger::give_back(int card, std::int64_t bytes) {
    locked([&] {
        if (ProcessUse* const row = table_->row(::getpid())) row->bytes[static_cast<std::size_t>(place(card))] -= bytes;
        return 0;
    });
}

std::int64_t Ledger::free(int card) {
    return locked([&] {
        table_->forget_dead();
        return card_bytes_ - table_->taken(place(card));
    });
}

std::vector<ProcessUse> Ledger::uses() {
    return locked([&] {
        table_->forget_dead();
        std::vector<ProcessUse> found;
        std::ranges::copy_if(table_->uses, std::back_inserter(found), [](const ProcessUse& each) { return each.process != 0; });
        return found;
    });
}

bool DeviceMemory::count(int card, std::size_t bytes) {
    if (!ledger_.take(card, static_cast<std::int64_t>(bytes))) return false;
    const auto at = static_cast<std::size_t>(card);
    held_[at] += static_cast<std::int64_t>(bytes);
    peak_[at] = std::max(peak_[at], held_[at]);
    return true;
}

void DeviceMemory::uncount(int card, std::size_t bytes) {
    ledger_.give_back(card, static_cast<std::int64_t>(bytes));
    held_[static_cast<std::size_t>(card)] -= static_cast<std::int64_t>(bytes);
}

std::uintptr_t DeviceMemory::next_address(std::size_t bytes) {
    if (next_ == 0) next_ = space();
    if (bytes > space() + space_bytes - next_) return 0;
    return std::exchange(next_, next_ + bytes);
}

std::uintptr_t DeviceMemory::allocate(int card, std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    if (bytes > space_bytes) return 0;
    const std::size_t size = whole_pages(std::max<std::size_t>(bytes, 1));
    if (!count(card, size)) return 0;
    const std::uintptr_t address = next_address(size);
    if (address == 0) {
        uncount(card, size);
        return 0;
    }
    ranges_[address] = {.bytes = size, .card = card};
    return address;
}

bool DeviceMemory::release(std::uintptr_t address) {
    const std::lock_guard lock{mutex_};
    const auto found = ranges_.find(address);
    if (found == ranges_.end() || found->second.mapped) return false;
    uncount(found->second.card, found->second.bytes);
    ranges_.erase(found);
    return true;
}

std::uintptr_t DeviceMemory::reserve(std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    if (bytes == 0 || bytes > space_bytes) return 0;
    const std::size_t size = whole_pages(bytes);
    const std::uintptr_t address = next_address(size);
    if (address != 0) reserved_[address] = size;
    return address;
}

bool DeviceMemory::unreserve(std::uintptr_t address, std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    const auto found = reserved_.find(address);
    if (found == reserved_.end() || found->second != whole_pages(bytes)) return false;
    const auto inside = ranges_.lower_bound(address);
    if (inside != ranges_.end() && inside->first < address + found->second) return false;  // pages are still mapped there
    reserved_.erase(found);
    return true;
}

std::uint64_t DeviceMemory::create_pages(int card, std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    if (bytes == 0 || bytes % page_bytes != 0 || !count(card, bytes)) return 0;
    pages_[++last_pages_] = {.bytes = bytes, .card = card};
    return last_pages_;
}

void DeviceMemory::drop_pages(std::uint64_t pages) {
    const auto found = pages_.find(pages);
    if (--found->second.users > 0) return;
    uncount(found->second.card, found->second.bytes);
    pages_.erase(found);
}

bool DeviceMemory::release_pages(std::uint64_t pages) {
    const std::lock_guard lock{mutex_};
    if (!pages_.contains(pages)) return false;
    drop_pages(pages);
    return true;
}

bool DeviceMemory::map_pages(std::uintptr_t address, std::size_t bytes, std::uint64_t pages) {
    const std::lock_guard lock{mutex_};
    const auto found = pages_.find(pages);
    auto home = reserved_.upper_bound(address);
    if (found == pages_.end() || found->second.bytes != bytes || home == reserved_.begin()) return false;
    --home;
    if (address % page_bytes != 0 || address + bytes > home->first + home->second) return false;
    const auto behind = ranges_.lower_bound(address);
    if (behind != ranges_.end() && behind->first < address + bytes) return false;
    ++found->second.users;
    ranges_[address] = {.bytes = bytes, .card = found->second.card, .mapped = true};
    pages_at_[address] = pages;
    return true;
}

bool DeviceMemory::unmap_pages(std::uintptr_t address, std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    for (std::uintptr_t at = address; at < address + bytes;) {  // checked as a whole before anything is done
        const auto found = ranges_.find(at);
        if (found == ranges_.end() || !found->second.mapped || at + found->second.bytes > address + bytes) return false;
        at += found->second.bytes;
    }
    for (std::uintptr_t at = address; at < address + bytes;) {
        const auto found = ranges_.find(at);
        const std::size_t size = found->second.bytes;
        drop_pages(pages_at_.at(at));
        pages_at_.erase(at);
        ranges_.erase(found);
        at += size;
    }
    return true;
}

std::optional<int> DeviceMemory::card_of(std::uintptr_t address) const {
    const std::lock_guard lock{mutex_};
    auto found = ranges_.upper_bound(address);
    if (found == ranges_.begin()) return std::nullopt;
    --found;
    if (address >= found->first + found->second.bytes) return std::nullopt;
    return found->second.card;
}

bool DeviceMemory::holds(std::uintptr_t address, std::size_t bytes) const {
    const std::lock_guard lock{mutex_};
    auto found = ranges_.upper_bound(address);
    if (found == ranges_.begin()) return false;
    --found;
    std::uintptr_t behind = found->first + found->second.bytes;
    if (address >= behind) return false;
    while (behind < address + bytes) {  // pages beside each other
        if (++found == ranges_.end() || found->first != behind || !found->second.mapped) return false;
        behind += found->second.bytes;
    }
    return true;
}

std::int64_t DeviceMemory::peak(int card) const {
    const std::lock_guard lock{mutex_};
    return peak_[static_cast<std::size_t>(card)];
}

}  // namespace hpo::virtual_card
