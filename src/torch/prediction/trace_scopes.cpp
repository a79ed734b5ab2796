// SPDX-License-Identifier: MIT
#include "torch/prediction/trace_scopes.hpp"

#include <ATen/record_function.h>
#include <torch/torch.h>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/torch/recording/trace_recorder.hpp"
#include "torch/meta/allocator.hpp"
#include "torch/recording/operator_inputs.hpp"

namespace hpo::libtorch {

TraceScopes::TraceScopes(const std::shared_ptr<torch::nn::Module>& model) : model_{model}, before_{std::exchange(current(), this)} {
    look_at_parameters();
    callback_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback{&start, &end}.needsInputs(true).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

TraceScopes::~TraceScopes() {
    at::removeCallback(callback_);
    TraceRecorder::instance().enter_scope("");
    current() = before_;
}

void TraceScopes::begin(const at::RecordFunction& function) {
    follow_phase();
    const bool backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
    Frame frame;
    if (!frames_.empty()) frame = frames_.back();
    else if (optimizes_) frame = {.known = true, .module = "optimizer"};
    const bool was_known = frame.known && !frames_.empty();
    find_module(function, frame);
    if (frames_.empty() || backward) frame.outermost = short_name(function.name());
    if (frame.known && !was_known) end_gap(frame.module);
    if (!backward && function.seqNr() >= 0) {
        if (frame.known) forward_[function.seqNr()] = frame.module;
        else gap_nodes_.push_back(function.seqNr());
    }
    frames_.push_back(std::move(frame));
    show_scope();
}

void TraceScopes::leave() {
    if (frames_.empty()) return;  // it began before the scopes did
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.known && (frames_.empty() || !frames_.back().known)) {
        last_module_ = frame.module.substr(frame.module.starts_with(after) ? after.size() : 0);
        gap_begin_ = TraceRecorder::instance().blocks();
    }
    show_scope();
}

void TraceScopes::show_scope() {
    if (frames_.empty()) return TraceRecorder::instance().enter_scope("");
    const Frame& frame = frames_.back();
    TraceRecorder::instance().enter_scope(frame.module.empty() ? frame.outermost : frame.module + " " + frame.outermost);
}

void TraceScopes::follow_phase() {
    TraceRecorder& recorder = TraceRecorder::instance();
    if (std::exchange(phases_, recorder.phases()) == recorder.phases()) return;
    end_gap("");
    last_module_.clear();
    const std::string phase = recorder.phase();
    optimizes_ = phase == "step" || phase == "update";
}

void TraceScopes::find_module(const at::RecordFunction& function, Frame& frame) {
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
        const auto found = forward_.find(function.seqNr());
        frame.known = found != forward_.end();
        frame.module = frame.known ? found->second : "";
        return;
    }
    detail::each_input_tensor(function, [&](const torch::Tensor& tensor, bool /*is_in_list*/) { find_module(tensor, frame); });
}

void TraceScopes::find_module(const torch::Tensor& tensor, Frame& frame) {
    if (!tensor.has_storage()) return;
    auto found = modules_.find(storage_of(tensor));
    if (found == modules_.end() && tensor.is_leaf() && tensor.requires_grad()) {
        look_at_parameters();
        found = modules_.find(storage_of(tensor));
    }
    if (found == modules_.end()) return;
    frame.known = true;
    frame.module = found->second + (optimizes_ ? " optimizer" : "");
}

std::string TraceScopes::place() {
    if (!current()) return {};
    for (const Frame& frame : current()->frames_) {
        if (frame.known && !frame.module.empty()) return (frame.module.starts_with(after) ? "" : "in ") + frame.module;
    }
    return current()->last_module_.empty() ? "" : std::string{after} + current()->last_module_;
}

void TraceScopes::end_gap(const std::string& next_module) {
    // Between two calls of one module lies what holds it, but which module that is remains unknown.
    std::string place = last_module_ == next_module ? std::string{} : common_module(last_module_, next_module);
    if (place.empty() && !last_module_.empty()) place = std::string{after} + last_module_;
    if (!place.empty()) TraceRecorder::instance().put_before_scopes(gap_begin_, place + " ");
    for (const std::int64_t node : gap_nodes_) forward_[node] = place;
    gap_nodes_.clear();
    gap_begin_ = TraceRecorder::instance().blocks();
}

void TraceScopes::look_at_parameters() {
    const auto model = model_.lock();
    if (!model) return;
    for (const auto& parameter : model->named_parameters()) {
        const std::size_t dot = parameter.key().rfind('.');
        const std::string module = dot == std::string::npos ? "" : parameter.key().substr(0, dot);
        if (!modules_.emplace(storage_of(parameter.value()), module).second) continue;
        TraceRecorder::instance().name(MetaAllocator::ticket_of(parameter.value().storage().data_ptr()), module + " weights");
    }
}

std::string_view TraceScopes::short_name(std::string_view name) {
    for (const std::string_view prefix : {"autograd::engine::evaluate_function: ", "torch::autograd::"}) {
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    }
    return name;
}

std::string TraceScopes::common_module(std::string_view a, std::string_view b) {
    const std::string first = std::string{a} + '.';
    const std::string second = std::string{b} + '.';
    const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
    const std::string both{first.begin(), differ};
    const std::size_t dot = both.rfind('.');
    return dot == std::string::npos ? "" : both.substr(0, dot);
}

}  // namespace hpo::libtorch
