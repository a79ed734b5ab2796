// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/torch/meta/allocator.hpp"
#include "hpo/torch/prediction/trace_scopes.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"

namespace hpo::libtorch::detail {

/// The inputs of an operator that is about to run. Design note: in debug builds LibTorch's own accessor asserts a flag that only a debug
/// build of LibTorch sets. An explicit instantiation may name a private member, so this reads it directly.
[[nodiscard]] c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function);

template <auto inputs>
struct OpenedRecordFunction {
    friend c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function) { return function.*inputs; }
};

template struct OpenedRecordFunction<&at::RecordFunction::inputs_>;

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch::inline prediction {

HPO_INLINE TraceScopes::TraceScopes(const std::shared_ptr<torch::nn::Module>& model)
    : model_{model}, before_{std::exchange(current(), this)} {
    look_at_parameters();
    callback_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback{&start, &end}.needsInputs(true).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

HPO_INLINE TraceScopes::~TraceScopes() {
    at::removeCallback(callback_);
    TraceRecorder::instance().enter_scope("");
    current() = before_;
}

HPO_INLINE void TraceScopes::end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
    if (current() && --current()->depth_ == 0) TraceRecorder::instance().enter_scope(current()->module_);
}

HPO_INLINE void TraceScopes::begin(const at::RecordFunction& function) {
    const bool backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
    if (std::exchange(phases_, TraceRecorder::instance().phases()) != TraceRecorder::instance().phases()) module_.clear();
    if (backward) {
        if (const auto found = forward_.find(function.seqNr()); found != forward_.end()) module_ = found->second;
    } else {
        for (const c10::IValue& input : detail::inputs_of(function)) {
            if (input.isTensor()) use(input.toTensor());
        }
        if (function.seqNr() >= 0) forward_[function.seqNr()] = module_;
    }
    if (depth_++ == 0 || backward) outermost_ = short_name(function.name());
    TraceRecorder::instance().enter_scope(module_.empty() ? outermost_ : module_ + " " + outermost_);
}

HPO_INLINE std::string_view TraceScopes::short_name(std::string_view name) {
    for (const std::string_view prefix : {"autograd::engine::evaluate_function: ", "torch::autograd::"}) {
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    }
    return name;
}

HPO_INLINE void TraceScopes::use(const torch::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    auto found = modules_.find(storage_of(tensor));
    if (found == modules_.end() && tensor.is_leaf() && tensor.requires_grad()) {
        look_at_parameters();
        found = modules_.find(storage_of(tensor));
    }
    if (found != modules_.end()) module_ = found->second;
}

HPO_INLINE void TraceScopes::look_at_parameters() {
    const auto model = model_.lock();
    if (!model) return;
    for (const auto& parameter : model->named_parameters()) {
        const std::size_t dot = parameter.key().rfind('.');
        const std::string module = dot == std::string::npos ? "" : parameter.key().substr(0, dot);
        if (!modules_.emplace(storage_of(parameter.value()), module).second) continue;
        TraceRecorder::instance().name(MetaAllocator::ticket_of(parameter.value().storage().data_ptr()), module + " weights");
    }
}

}  // namespace hpo::libtorch::prediction
