// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Allocator.h>
#include <torch/version.h>

#include <cstddef>

#include "hpo/torch/trace_recorder.hpp"

namespace hpo::torch {

/// LibTorch's allocator for the meta device, whose tensors have shapes and no numbers: it gives no memory, and tells a recording what a
/// real device would have been asked for. Outside the meter (Unmetered) it tells nothing.
///
/// Thread safety: all members.
class MetaAllocator final : public c10::Allocator {
public:
    /// Makes LibTorch use it from now on; once is enough.
    static void install();

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
    static c10::DataPtr take(std::size_t bytes);
    static void forget(void* context);
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/meta_allocator_inl.hpp"
#endif
