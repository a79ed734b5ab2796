// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Allocator.h>
#include <torch/version.h>

#include <cstddef>

#include "hpo/torch/recording/trace_recorder.hpp"

namespace hpo::libtorch {

/// An allocator for LibTorch's meta device, whose tensors have shapes but no numbers. It gives no memory. It tells a recording what a real
/// device would have been asked for, except outside the meter (Unmetered).
///
/// Thread safety: all members.
class MetaAllocator final : public c10::Allocator {
public:
    /// Makes LibTorch use it from now on. One call is enough.
    static void install();

    /// The recording's ticket of a block. A block of another allocator has the ticket of no recording.
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

    /// The ticket is the pointer's context. Without a context, LibTorch would not call the deleter.
    static c10::DataPtr take(std::size_t bytes);
    static void forget(void* context);
};

}  // namespace hpo::libtorch
