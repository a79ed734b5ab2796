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
#include "hpo/torch/recording/trace_recorder.hpp"

namespace hpo::libtorch {

/// A refused allocation, and how full the device was at that moment.
struct Refusal {
    std::int64_t requested_bytes = 0;
    MemoryReading reading;
};

/// A CPU allocator for LibTorch that counts the live and peak bytes of this process. It refuses what exceeds the process's cap or the
/// shared device, with the error of CUDA's allocator.
///
/// Thread safety: all members. Install it before the first tensor is made.
///
/// Design note: a header before each block says what was charged, and to which account. A replacement CPU allocator must return `get() ==
/// get_context()` and one raw deleter, because conv2d frees through it.
class MeteredAllocator final : public c10::Allocator {
public:
    /// The process's one instance. It is never destroyed, since tensors may outlive every static object.
    static MeteredAllocator& instance() {
        static MeteredAllocator* const allocator = new MeteredAllocator;
        return *allocator;
    }
    /// Makes LibTorch use it for everything on the CPU from now on. One call is enough.
    ///
    /// Design note: the C library's heap is told to keep freed blocks, as a caching allocator does. Training frees and takes the same
    /// blocks in every step, and fresh pages cost a quarter of its time. release_cache gives the kept blocks back.
    static void install();
    /// True if LibTorch uses it now.
    [[nodiscard]] static bool installed() { return c10::GetCPUAllocator() == &instance(); }
    /// Gives the blocks that the heap keeps back to the machine.
    static void release_cache() { ::malloc_trim(0); }

    /// Charges new tensors to the device whose account is in `file`, or to no device if `file` is empty. Live tensors stay with their
    /// account. Throws Error if there is no such account, or if it has too many processes.
    void use_device(const std::filesystem::path& file);
    /// The most bytes that this process may hold, however much the device has left.
    void set_cap(std::optional<std::int64_t> cap_bytes) { cap_ = cap_bytes.value_or(no_cap); }

    [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_; }
    [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }
    /// The number of charged allocations since the process began.
    [[nodiscard]] std::int64_t allocations() const { return allocations_; }
    void reset_peak() { peak_ = allocated_.load(); }

    [[nodiscard]] MemoryReading reading() const;
    /// Returns the last refusal and forgets it.
    [[nodiscard]] std::optional<Refusal> take_refusal() {
        const std::lock_guard lock{mutex_};
        return std::exchange(refusal_, std::nullopt);
    }
    /// Refuses the n-th charged allocation from now (1: the next; 0: none), however much memory is free. For tests of what an out-of-memory
    /// leaves behind.
    void refuse_nth(std::int64_t n) { refuse_in_ = n; }

    /// Ends the record of a block as if it had been given back. Returns false if the block was not recorded or belongs to another
    /// allocator.
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
    static constexpr std::size_t alignment = 64;  // as in LibTorch's own CPU allocator

    struct alignas(alignment) Header {
        std::int64_t charged_bytes;      ///< 0: outside the meter
        device::MeteredDevice* charged;  ///< null: charged only to the process
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
    std::mutex mutex_;  ///< guards the members below
    std::vector<std::unique_ptr<device::MeteredDevice>> devices_;
    std::optional<Refusal> refusal_;
};

/// While it lives, the meter does not count the tensors that this thread makes. For data sets, not for models or batches.
class Unmetered {
public:
    Unmetered() { ++MeteredAllocator::unmetered_depth(); }
    ~Unmetered() { --MeteredAllocator::unmetered_depth(); }
    Unmetered(const Unmetered&) = delete;
    Unmetered& operator=(const Unmetered&) = delete;
    /// True while this thread has an Unmetered object.
    [[nodiscard]] static bool in_force() { return MeteredAllocator::unmetered_depth() > 0; }
};

}  // namespace hpo::libtorch
