// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hpo::torch {

/// While it lives, this thread's recording knows who takes a block: "encoder.layer.0.output.dense aten::addmm", the module whose parameter
/// was used last and the operator that was called. A backward node belongs to the module of its forward operator, a parameter's own block
/// to its module. One at a time in a thread; every operator costs about as much again.
class TraceScopes {
public:
    /// `model` is on the meta device. Modules that it gets later are known when their parameters are used.
    explicit TraceScopes(const std::shared_ptr<::torch::nn::Module>& model);
    ~TraceScopes();
    TraceScopes(const TraceScopes&) = delete;
    TraceScopes& operator=(const TraceScopes&) = delete;

private:
    static TraceScopes*& current() {
        thread_local TraceScopes* scopes = nullptr;
        return scopes;
    }
    static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& function) {
        if (current()) current()->begin(function);
        return nullptr;
    }
    static void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/);

    void begin(const at::RecordFunction& function);
    /// A backward node's name without what the engine puts before it.
    static std::string_view short_name(std::string_view name);
    void use(const ::torch::Tensor& tensor);
    void look_at_parameters();
    static const c10::StorageImpl* storage_of(const ::torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

    std::weak_ptr<::torch::nn::Module> model_;
    TraceScopes* before_;
    at::CallbackHandle callback_{};
    std::unordered_map<const c10::StorageImpl*, std::string> modules_;  ///< by a parameter's storage
    std::unordered_map<std::int64_t, std::string> forward_;             ///< modules by the number of their autograd node
    std::string module_;
    std::string outermost_;  ///< operator
    int depth_ = 0;
    std::int64_t phases_ = 0;  ///< of the recorder, at the last operator
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/trace_scopes_inl.hpp"
#endif
