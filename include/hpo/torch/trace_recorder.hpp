// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "hpo/memory/allocation_trace.hpp"

namespace hpo::torch {

/// Whose blocks a recording holds.
enum class Recorded {
    device,           ///< those of a device
    device_and_host,  ///< and those in host memory, where that is what the metered device's account is of
};

/// Who took and gave back device memory while a Recording lives: the allocators tell, one trace holds it. One recording at a time in a
/// process; outside of it a call costs one load.
///
/// Thread safety: all members.
class TraceRecorder {
public:
    /// What an allocator keeps with a block, and shows when it is given back.
    struct Ticket {
        std::int64_t recording = 0;  ///< 0: nobody recorded it
        std::int64_t block = 0;
    };

    static TraceRecorder& instance() {
        static TraceRecorder recorder;
        return recorder;
    }

    /// `memory`: device for a block of the meta device, device_and_host for one in host memory.
    [[nodiscard]] Ticket take(std::int64_t bytes, Recorded memory) {
        if (!recording_) return {};
        const std::lock_guard lock{mutex_};
        if (!recording_ || (memory == Recorded::device_and_host && recorded_ == Recorded::device)) return {};
        return {recording_, trace_.take({.bytes = bytes, .scope = scope_})};
    }
    void give_back(Ticket ticket) {
        if (ticket.recording == 0 || ticket.recording != recording_) return;
        const std::lock_guard lock{mutex_};
        if (ticket.recording == recording_) trace_.give_back(ticket.block);
    }
    /// What follows is taken by whom this names; empty: nobody that is known.
    void enter_scope(const std::string& name) {
        if (!recording_) return;
        const std::lock_guard lock{mutex_};
        scope_ = number_of(name);
    }
    /// Says who holds a block that was taken before.
    void name(Ticket ticket, const std::string& scope) {
        if (ticket.recording == 0 || ticket.recording != recording_) return;
        const std::lock_guard lock{mutex_};
        trace_.blocks[static_cast<std::size_t>(ticket.block)].scope = number_of(scope);
    }
    /// What follows belongs to this phase.
    void enter(std::string_view phase) {
        if (const PhaseListener listener = listener_) listener(phase);
        if (!recording_) return;
        const std::lock_guard lock{mutex_};
        trace_.enter(phase);
        ++phases_;
    }
    /// What was entered last in the recording that runs; empty without one.
    [[nodiscard]] std::string phase() {
        const std::lock_guard lock{mutex_};
        return recording_ && !trace_.phases.empty() ? trace_.phases.back().name : std::string{};
    }
    /// Told each phase in the thread that enters it, whether or not something is recorded here; null: nobody. Someone else's record of the
    /// same training has its phases from it.
    using PhaseListener = void (*)(std::string_view phase);
    void listen(PhaseListener listener) { listener_ = listener; }
    /// How many phases were entered: changes with each.
    [[nodiscard]] std::int64_t phases() const { return phases_; }

private:
    friend class Recording;

    std::uint32_t number_of(const std::string& scope) {
        const auto [known, added] = scopes_.emplace(scope, static_cast<std::uint32_t>(trace_.scopes.size()));
        if (added) trace_.scopes.push_back(scope);
        return known->second;
    }

    std::atomic<std::int64_t> recording_{0};  ///< number of the one that runs; 0: none
    std::atomic<std::int64_t> phases_{0};
    std::atomic<PhaseListener> listener_{nullptr};
    std::mutex mutex_;  ///< of what follows
    std::int64_t recordings_ = 0;
    std::uint32_t scope_ = 0;
    std::unordered_map<std::string, std::uint32_t> scopes_;  ///< numbers in the trace
    Recorded recorded_ = Recorded::device;
    memory::AllocationTrace trace_;
};

/// While it lives, device memory is recorded.
class Recording {
public:
    explicit Recording(Recorded recorded) {
        const std::lock_guard lock{recorder_.mutex_};
        recorder_.recorded_ = recorded;
        recorder_.trace_ = {};
        recorder_.scope_ = 0;
        recorder_.scopes_ = {{"", 0}};
        recorder_.recording_ = ++recorder_.recordings_;
    }
    ~Recording() { recorder_.recording_ = 0; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Ends it. Blocks that are still held are never given back in the trace.
    [[nodiscard]] memory::AllocationTrace finish() {
        const std::lock_guard lock{recorder_.mutex_};
        recorder_.recording_ = 0;
        return std::exchange(recorder_.trace_, {});
    }

private:
    TraceRecorder& recorder_ = TraceRecorder::instance();
};

}  // namespace hpo::torch
