// SPDX-License-Identifier: MIT
#include "torch/recording/mixed_devices.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <torch/torch.h>
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/torch/recording/trace_recorder.hpp"
#include "torch/recording/operator_inputs.hpp"

namespace hpo::libtorch {

MixedDevices::MixedDevices(std::function<std::string()> place) : place_{std::move(place)}, before_{std::exchange(current(), this)} {
    callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback{&start, &end}.needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

MixedDevices::~MixedDevices() {
    at::removeCallback(callback_);
    current() = before_;
}

void MixedDevices::look(const at::RecordFunction& function) {
    static constexpr std::array<std::string_view, 4> indexing{"aten::index", "aten::index_put_", "aten::index_put",
                                                              "aten::_index_put_impl_"};
    const bool indexes = std::ranges::find(indexing, std::string_view{function.name()}) != indexing.end();
    bool on_device = false;
    std::string host_shape;
    detail::each_input_tensor(function, [&](const torch::Tensor& tensor, bool is_in_list) {
        on_device = on_device || tensor.is_meta();
        if (!tensor.is_cpu() || tensor.dim() == 0 || !host_shape.empty()) return;
        if (indexes && is_in_list) return;  // an index may lie in host memory
        for (const std::int64_t size : tensor.sizes()) host_shape += (host_shape.empty() ? "" : ", ") + std::to_string(size);
        host_shape = '[' + host_shape + ']';
    });
    if (!on_device || host_shape.empty() || !needs_one_device(function)) return;
    what_ = std::string{function.name()} + " gets a tensor of shape " + host_shape + " in host memory beside one on the device";
}

void MixedDevices::tell() {
    const std::string phase = TraceRecorder::instance().phase();
    const std::string place = place_ ? place_() : std::string{};
    problem_ = (phase.empty() ? "" : "in " + phase + ", ") + (place.empty() ? "" : place + ", ") + what_ +
               "; expected all on one: make a tensor with its device, as torch::arange(n, batch.inputs[0].device()) does, or move it with "
               ".to(device)";
}

bool MixedDevices::needs_one_device(const at::RecordFunction& function) {
    static constexpr std::array<std::string_view, 5> take_both{"aten::copy_", "aten::_to_copy", "aten::_pack_padded_sequence", "aten::set_",
                                                               "aten::resize_as_"};
    if (std::ranges::find(take_both, std::string_view{function.name()}) != take_both.end()) return false;
    const auto name = function.operator_name();
    if (!name) return false;
    const auto handle = c10::Dispatcher::singleton().findSchema(*name);
    return handle && !handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

}  // namespace hpo::libtorch
