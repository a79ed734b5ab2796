// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <torch/version.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/device/metered_device.hpp"
#include "hpo/device/out_of_memory_text.hpp"
#include "hpo/torch/trace_recorder.hpp"

namespace hpo::torch {

/// An allocation that was refused, and how full the device was at that moment.
struct Refusal {
    std::int64_t requested_bytes = 0;
    MemoryReading reading;
};

/// LibTorch's CPU allocator with an account: counts live and peak bytes of this process and refuses, with the error that
/// CUDA's allocator throws, what goes past the process's cap or the shared device.
///
/// Thread safety: all members; install before the first tensor is made.
///
/// Design note: a header before each block says what was charged and to whom, because a replacement CPU allocator must
/// return `get() == get_context()` and one raw deleter (conv2d frees through it).
class MeteredAllocator final : public c10::Allocator {
public:
    /// The process's one instance; it is never destroyed, since tensors may outlive every static object.
    static MeteredAllocator& instance() {
        static MeteredAllocator* const allocator = new MeteredAllocator;
        return *allocator;
    }
    /// Makes LibTorch use it for everything on the CPU from now on; once is enough.
    ///
    /// Design note: the C library's heap is told to keep what is freed, as a caching allocator does, because training frees
    /// and takes the same blocks in every step and fresh pages cost a quarter of its time; release_cache gives it back.
    static void install() {
        static const bool once = [] {
            ::mallopt(M_ARENA_MAX, 1);
            ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
            ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
            c10::SetCPUAllocator(&instance(), 100);
            return true;
        }();
        static_cast<void>(once);
    }
    /// Gives what the heap keeps for later back to the machine.
    static void release_cache() { ::malloc_trim(0); }

    /// New tensors are charged to the device whose account is in `file` (empty: to none); live ones stay where they are.
    /// Throws Error when there is no such account, or too many processes on it.
    void use_device(const std::filesystem::path& file) {
        const std::lock_guard lock{mutex_};
        if (file.empty()) {
            device_ = nullptr;
            return;
        }
        for (const auto& known : devices_) {
            if (known->file() == file) {
                device_ = known.get();
                return;
            }
        }
        auto opened = std::make_unique<device::MeteredDevice>(device::MeteredDevice::open(file));
        static_cast<void>(opened->charge(0));  // takes this process's slot now: a crowded device is refused here, not in a tensor
        device_ = opened.get();
        devices_.push_back(std::move(opened));
    }
    /// Bytes that this process may hold at most, whatever the device has left.
    void set_cap(std::optional<std::int64_t> cap_bytes) { cap_ = cap_bytes.value_or(no_cap); }

    [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_; }
    [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }
    /// Allocations that were charged since the process began.
    [[nodiscard]] std::int64_t allocations() const { return allocations_; }
    void reset_peak() { peak_ = allocated_.load(); }

    [[nodiscard]] MemoryReading reading() const {
        MemoryReading reading;
        reading.allocated = reading.reserved = allocated_;
        reading.peak_allocated = reading.peak_reserved = peak_;
        if (const std::int64_t cap = cap_; cap != no_cap) reading.limit = cap;
        if (device::MeteredDevice* const device = device_) {
            if (const auto cap = device->own_cap(); cap && (!reading.limit || *cap < *reading.limit)) reading.limit = cap;
            const device::Occupancy occupancy = device->occupancy();
            reading.capacity = occupancy.capacity_bytes;
            reading.free = occupancy.capacity_bytes - occupancy.used_bytes;
            for (const MemoryNeighbour& process : occupancy.processes) {
                if (process.pid != ::getpid()) reading.neighbours.push_back(process);
            }
        }
        return reading;
    }
    /// The last refusal, which is forgotten by asking.
    [[nodiscard]] std::optional<Refusal> take_refusal() {
        const std::lock_guard lock{mutex_};
        return std::exchange(refusal_, std::nullopt);
    }
    /// Refuses the n-th charged allocation from now (1: the next), whatever is free: for tests of what an out-of-memory
    /// leaves behind. 0: none.
    void refuse_nth(std::int64_t n) { refuse_in_ = n; }

    /// Ends the record of a block as though it had been given back. False where it was not recorded, or is another allocator's.
    static bool end_record(const c10::DataPtr& block) {
        if (block.get_deleter() != &free_block || !block.get_context()) return false;
        const TraceRecorder::Ticket ticket = std::exchange((static_cast<Header*>(block.get_context()) - 1)->ticket, {});
        TraceRecorder::instance().give_back(ticket);
        return ticket.recording != 0;
    }

    c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
    c10::DataPtr allocate(std::size_t bytes) override { return instance().take(bytes); }
    void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
#else
    c10::DataPtr allocate(std::size_t bytes) const override { return instance().take(bytes); }
#endif

private:
    friend class Unmetered;
    static constexpr std::int64_t no_cap = std::numeric_limits<std::int64_t>::max();
    static constexpr std::size_t alignment = 64;  // of LibTorch's own CPU allocator

    struct alignas(alignment) Header {
        std::int64_t charged_bytes;      ///< 0: outside the meter
        device::MeteredDevice* charged;  ///< null: only to the process
        TraceRecorder::Ticket ticket{};
    };
    static_assert(sizeof(Header) == alignment);

    MeteredAllocator() = default;

    static int& unmetered_depth() {
        thread_local int depth = 0;
        return depth;
    }
    static void free_block(void* data) {
        if (!data) return;
        Header* const header = static_cast<Header*>(data) - 1;
        if (header->charged_bytes > 0) instance().give_back(header->charged_bytes, header->charged);
        TraceRecorder::instance().give_back(header->ticket);
        std::free(header);
    }

    c10::DataPtr take(std::size_t size) {
        const c10::Device cpu{c10::DeviceType::CPU};
        if (size == 0) return {nullptr, nullptr, &free_block, cpu};
        constexpr std::size_t largest = std::size_t{1} << 60;
        const bool metered = unmetered_depth() == 0;
        const auto bytes = static_cast<std::int64_t>(size < largest ? size : largest);
        device::MeteredDevice* const device = metered ? device_.load() : nullptr;
        if (metered) charge(bytes, device);
        void* block = nullptr;
        if (size >= largest || ::posix_memalign(&block, alignment, size + sizeof(Header)) != 0) {
            if (metered) give_back(bytes, device);
            C10_THROW_ERROR(Error, "DefaultCPUAllocator: can't allocate memory: you tried to allocate " + std::to_string(size) +
                                       " bytes. Error code " + std::to_string(ENOMEM));
        }
        auto* const header = new (block) Header{metered ? bytes : 0, device};
        if (metered) header->ticket = TraceRecorder::instance().take(bytes, Recorded::device_and_host);
        void* const data = header + 1;
        return {data, data, &free_block, cpu};
    }
    void charge(std::int64_t bytes, device::MeteredDevice* device) {
        const std::int64_t now = allocated_.fetch_add(bytes) + bytes;
        const bool injected = refuse_in_ > 0 && refuse_in_.fetch_sub(1) == 1;
        if (injected || now > cap_ || (device && !device->charge(bytes))) {
            allocated_ -= bytes;
            refuse(bytes);
        }
        ++allocations_;
        std::int64_t peak = peak_;
        while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
        }
    }
    void give_back(std::int64_t bytes, device::MeteredDevice* device) {
        allocated_ -= bytes;
        if (device) device->release(bytes);
    }
    [[noreturn]] void refuse(std::int64_t bytes) {
        Refusal refusal{bytes, reading()};
        const std::string text = device::out_of_memory_text(bytes, refusal.reading);
        {
            const std::lock_guard lock{mutex_};
            refusal_ = std::move(refusal);
        }
        C10_THROW_ERROR(OutOfMemoryError, text);
    }

    std::atomic<std::int64_t> allocated_{0};
    std::atomic<std::int64_t> peak_{0};
    std::atomic<std::int64_t> allocations_{0};
    std::atomic<std::int64_t> cap_{no_cap};
    std::atomic<std::int64_t> refuse_in_{0};
    std::atomic<device::MeteredDevice*> device_{nullptr};
    std::mutex mutex_;  ///< of what follows
    std::vector<std::unique_ptr<device::MeteredDevice>> devices_;
    std::optional<Refusal> refusal_;
};

/// While it lives, tensors that this thread makes are outside the meter: data sets, not models or batches.
class Unmetered {
public:
    Unmetered() { ++MeteredAllocator::unmetered_depth(); }
    ~Unmetered() { --MeteredAllocator::unmetered_depth(); }
    Unmetered(const Unmetered&) = delete;
    Unmetered& operator=(const Unmetered&) = delete;
    /// True while one lives in this thread.
    [[nodiscard]] static bool in_force() { return MeteredAllocator::unmetered_depth() > 0; }
};

}  // namespace hpo::torch
