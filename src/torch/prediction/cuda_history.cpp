// SPDX-License-Identifier: MIT
#include "torch/prediction/cuda_history.hpp"

#ifdef HPO_TORCH_CUDA

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "hpo/base/error.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"

namespace hpo::libtorch {

allocator::AllocationTrace trace_of_history(std::span<const c10::CachingDeviceAllocator::TraceEntry> entries) {
    using Entry = c10::CachingDeviceAllocator::TraceEntry;
    allocator::AllocationTrace trace;
    std::unordered_map<std::size_t, std::int64_t> live;  // blocks by their address
    for (const Entry& entry : entries) {
        if (entry.action_ != Entry::ALLOC && entry.action_ != Entry::FREE_COMPLETED) continue;
        if (entry.stream_ != nullptr) throw bad_value("CUDA history", "a block of a further stream", "blocks of the default stream");
        if (entry.mempool_ != c10::MempoolId_t{0, 0})
            throw bad_value("CUDA history", "a block of a private pool", "blocks of the common pools");
        if (!entry.user_metadata_.empty()) trace.enter(entry.user_metadata_);
        if (entry.action_ == Entry::ALLOC) {
            live[entry.addr_] = trace.take({.bytes = static_cast<std::int64_t>(entry.size_)});
        } else if (const auto block = live.find(entry.addr_); block != live.end()) {
            trace.give_back(block->second);
            live.erase(block);
        }
    }
    return trace;
}

CudaHistory::CudaHistory(const Settings& settings) : settings_{settings} {
    translated([&] {
        allocator().init(c10::cuda::device_count_ensure_non_zero());
        if (allocator().isHistoryEnabled()) throw Error{Errc::usage, "CUDA history: one is being kept already"};
        began_empty_ = allocator().getDeviceStats(settings_.device).reserved_bytes[0].current == 0;
        record(true);
    });
    TraceRecorder::instance().listen([](std::string_view phase) { enter(std::string{phase}); });
}

CudaHistory::~CudaHistory() {
    try {
        stop();
    } catch (...) {  // only host memory is lost
    }
}

allocator::AllocationTrace CudaHistory::finish() {
    return translated([&] {
        if (!recording_) throw Error{Errc::usage, "CUDA history: it has ended already"};
        const auto snapshot = allocator().snapshot();
        stop();
        const auto& entries = snapshot.device_traces.at(static_cast<std::size_t>(settings_.device));
        if (entries.size() >= settings_.most_entries) {
            throw bad_value("CUDA history", std::to_string(settings_.most_entries) + " entries or more",
                            "fewer than most_entries, which overwrite nothing");
        }
        return trace_of_history(entries);
    });
}

void CudaHistory::record(bool enabled) {
    allocator().recordHistory(enabled, nullptr, settings_.most_entries, c10::CachingDeviceAllocator::RecordContext::NEVER,
                              /*clearHistory=*/true, /*skip_actions=*/{});
    recording_ = enabled;
}

void CudaHistory::stop() {
    if (!recording_) return;
    TraceRecorder::instance().listen(nullptr);
    record(false);
}

template <class Work>
std::invoke_result_t<Work> CudaHistory::translated(const Work& work) {
    try {
        return work();
    } catch (const c10::Error& error) {
        throw Error{Errc::no_device, std::string{"CUDA history: "} + error.what_without_backtrace()};
    }
}

}  // namespace hpo::libtorch

#endif  // HPO_TORCH_CUDA
