// SPDX-License-Identifier: MIT
#include "hpo/torch/metered_allocator.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <torch/version.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "device/out_of_memory_text.hpp"

namespace hpo::libtorch {

void MeteredAllocator::install() {
    static const bool once = [] {
        ::mallopt(M_ARENA_MAX, 1);
        ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
        ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
        c10::SetCPUAllocator(&instance(), 100);
        return true;
    }();
    static_cast<void>(once);
}

void MeteredAllocator::use_device(const std::filesystem::path& file) {
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
    static_cast<void>(opened->charge(0));  // takes this process's slot now, so that a full device fails here and not in a tensor
    device_ = opened.get();
    devices_.push_back(std::move(opened));
}

MemoryReading MeteredAllocator::reading() const {
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

bool MeteredAllocator::end_record(const c10::DataPtr& block) {
    if (block.get_deleter() != &free_block || !block.get_context()) return false;
    const TraceRecorder::Ticket ticket = std::exchange((static_cast<Header*>(block.get_context()) - 1)->ticket, {});
    TraceRecorder::instance().give_back(ticket);
    return ticket.recording != 0;
}

void MeteredAllocator::free_block(void* data) {
    if (!data) return;
    Header* const header = static_cast<Header*>(data) - 1;
    if (header->charged_bytes > 0) instance().give_back(header->charged_bytes, header->charged);
    TraceRecorder::instance().give_back(header->ticket);
    std::free(header);
}

c10::DataPtr MeteredAllocator::take(std::size_t size) {
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

void MeteredAllocator::charge(std::int64_t bytes, device::MeteredDevice* device) {
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

void MeteredAllocator::refuse(std::int64_t bytes) {
    Refusal refusal{bytes, reading()};
    const std::string text = device::out_of_memory_text(bytes, refusal.reading);
    {
        const std::lock_guard lock{mutex_};
        refusal_ = std::move(refusal);
    }
    C10_THROW_ERROR(OutOfMemoryError, text);
}

}  // namespace hpo::libtorch
