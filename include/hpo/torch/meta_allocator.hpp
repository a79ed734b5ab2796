// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Allocator.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/trace_recorder.hpp"

namespace hpo::torch {

/// LibTorch's allocator for the meta device, whose tensors have shapes and no numbers: it gives no memory, and tells a recording what a
/// real device would have been asked for. Outside the meter (Unmetered) it tells nothing.
///
/// Thread safety: all members.
class MetaAllocator final : public c10::Allocator {
public:
    /// Makes LibTorch use it from now on; once is enough.
    static void install() {
        static const bool once = [] {
            c10::SetAllocator(c10::DeviceType::Meta, new MetaAllocator, 100);  // lives as long as any tensor may
            return true;
        }();
        static_cast<void>(once);
    }

    /// What a recording knows a block by; that of no recording where it is not one of this allocator's.
    [[nodiscard]] static TraceRecorder::Ticket ticket_of(const c10::DataPtr& data) {
        const bool own = data.get_deleter() == &forget && data.get_context();
        return own ? *static_cast<const TraceRecorder::Ticket*>(data.get_context()) : TraceRecorder::Ticket{};
    }

    c10::DeleterFnPtr raw_deleter() const override { return &forget; }
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
    c10::DataPtr allocate(std::size_t bytes) override { return take(bytes); }
    void copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const override {}
#else
    c10::DataPtr allocate(std::size_t bytes) const override { return take(bytes); }
#endif

private:
    MetaAllocator() = default;

    /// The ticket is the pointer's context, which is what makes LibTorch call the deleter.
    static c10::DataPtr take(std::size_t bytes) {
        const c10::Device meta{c10::DeviceType::Meta};
        const bool recorded = bytes > 0 && !Unmetered::in_force();
        const auto ticket =
            recorded ? TraceRecorder::instance().take(static_cast<std::int64_t>(bytes), Recorded::device) : TraceRecorder::Ticket{};
        if (ticket.recording == 0) return {nullptr, nullptr, &forget, meta};
        return {nullptr, new TraceRecorder::Ticket{ticket}, &forget, meta};
    }
    static void forget(void* context) {
        auto* const ticket = static_cast<TraceRecorder::Ticket*>(context);
        if (!ticket) return;
        TraceRecorder::instance().give_back(*ticket);
        delete ticket;
    }
};

}  // namespace hpo::torch
