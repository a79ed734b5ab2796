// SPDX-License-Identifier: MIT
#include "torch/meta/allocator.hpp"

#include <c10/core/Allocator.h>
#include <torch/version.h>
#include <cstddef>
#include <cstdint>

#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch {

void MetaAllocator::install() {
    static const bool once = [] {
        c10::SetAllocator(c10::DeviceType::Meta, new MetaAllocator, 100);  // never destroyed, since tensors may live until the end
        return true;
    }();
    static_cast<void>(once);
}

c10::DataPtr MetaAllocator::take(std::size_t bytes) {
    const c10::Device meta{c10::DeviceType::Meta};
    const bool recorded = bytes > 0 && !Unmetered::in_force();
    const auto ticket =
        recorded ? TraceRecorder::instance().take(static_cast<std::int64_t>(bytes), Recorded::device) : TraceRecorder::Ticket{};
    if (ticket.recording == 0) return {nullptr, nullptr, &forget, meta};
    return {nullptr, new TraceRecorder::Ticket{ticket}, &forget, meta};
}

void MetaAllocator::forget(void* context) {
    auto* const ticket = static_cast<TraceRecorder::Ticket*>(context);
    if (!ticket) return;
    TraceRecorder::instance().give_back(*ticket);
    delete ticket;
}

}  // namespace hpo::libtorch
