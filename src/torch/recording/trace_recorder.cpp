// SPDX-License-Identifier: MIT
#include "hpo/torch/recording/trace_recorder.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace hpo::libtorch {

TraceRecorder::Ticket TraceRecorder::take(std::int64_t bytes, Recorded memory) {
    if (!recording_) return {};
    const std::lock_guard lock{mutex_};
    if (!recording_ || (memory == Recorded::device_and_host && recorded_ == Recorded::device)) return {};
    return {recording_, trace_.take({.bytes = bytes, .scope = scope_})};
}

void TraceRecorder::give_back(Ticket ticket) {
    if (ticket.recording == 0 || ticket.recording != recording_) return;
    const std::lock_guard lock{mutex_};
    if (ticket.recording == recording_) trace_.give_back(ticket.block);
}

void TraceRecorder::enter_scope(const std::string& name) {
    if (!recording_) return;
    const std::lock_guard lock{mutex_};
    scope_ = number_of(name);
}

void TraceRecorder::name(Ticket ticket, const std::string& scope) {
    if (ticket.recording == 0 || ticket.recording != recording_) return;
    const std::lock_guard lock{mutex_};
    trace_.blocks[static_cast<std::size_t>(ticket.block)].scope = number_of(scope);
    named_.insert(static_cast<std::size_t>(ticket.block));
}

void TraceRecorder::put_before_scopes(std::size_t first, const std::string& text) {
    if (!recording_) return;
    const std::lock_guard lock{mutex_};
    for (std::size_t block = first; block < trace_.blocks.size(); ++block) {
        if (named_.contains(block)) continue;
        std::uint32_t& scope = trace_.blocks[block].scope;
        scope = number_of(text + trace_.scopes[scope]);
    }
}

void TraceRecorder::enter(std::string_view phase) {
    if (const PhaseListener listener = listener_) listener(phase);
    if (!recording_) return;
    const std::lock_guard lock{mutex_};
    trace_.enter(phase);
    ++phases_;
}

std::uint32_t TraceRecorder::number_of(const std::string& scope) {
    const auto [known, added] = scopes_.emplace(scope, static_cast<std::uint32_t>(trace_.scopes.size()));
    if (added) trace_.scopes.push_back(scope);
    return known->second;
}

Recording::Recording(Recorded recorded) {
    const std::lock_guard lock{recorder_.mutex_};
    recorder_.recorded_ = recorded;
    recorder_.trace_ = {};
    recorder_.scope_ = 0;
    recorder_.scopes_ = {{"", 0}};
    recorder_.named_.clear();
    recorder_.recording_ = ++recorder_.recordings_;
}

allocator::AllocationTrace Recording::finish() {
    const std::lock_guard lock{recorder_.mutex_};
    recorder_.recording_ = 0;
    return std::exchange(recorder_.trace_, {});
}

}  // namespace hpo::libtorch
