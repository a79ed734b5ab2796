// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <torch/version.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/device/metered_device.hpp"
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
    static void install();
    /// Gives what the heap keeps for later back to the machine.
    static void release_cache() { ::malloc_trim(0); }

    /// New tensors are charged to the device whose account is in `file` (empty: to none); live ones stay where they are.
    /// Throws Error when there is no such account, or too many processes on it.
    void use_device(const std::filesystem::path& file);
    /// Bytes that this process may hold at most, whatever the device has left.
    void set_cap(std::optional<std::int64_t> cap_bytes) { cap_ = cap_bytes.value_or(no_cap); }

    [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_; }
    [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }
    /// Allocations that were charged since the process began.
    [[nodiscard]] std::int64_t allocations() const { return allocations_; }
    void reset_peak() { peak_ = allocated_.load(); }

    [[nodiscard]] MemoryReading reading() const;
    /// The last refusal, which is forgotten by asking.
    [[nodiscard]] std::optional<Refusal> take_refusal() {
        const std::lock_guard lock{mutex_};
        return std::exchange(refusal_, std::nullopt);
    }
    /// Refuses the n-th charged allocation from now (1: the next), whatever is free: for tests of what an out-of-memory
    /// leaves behind. 0: none.
    void refuse_nth(std::int64_t n) { refuse_in_ = n; }

    /// Ends the record of a block as though it had been given back. False where it was not recorded, or is another allocator's.
    static bool end_record(const c10::DataPtr& block);

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
    static void free_block(void* data);

    c10::DataPtr take(std::size_t size);
    void charge(std::int64_t bytes, device::MeteredDevice* device);
    void give_back(std::int64_t bytes, device::MeteredDevice* device) {
        allocated_ -= bytes;
        if (device) device->release(bytes);
    }
    [[noreturn]] void refuse(std::int64_t bytes);

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

#ifndef HPO_COMPILED
#include "hpo/torch/impl/metered_allocator_inl.hpp"
#endif
