// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hpo::libtorch::inline prediction {

/// While it lives, this thread's recording knows what takes each block, such as "encoder.layer.0.output.dense aten::addmm". This is the
/// module whose parameter was used last, and the operator that was called. A backward node belongs to the module of its forward operator,
/// and a parameter's own block to its module. Only one at a time in a thread. Every operator costs about twice as much.
class TraceScopes {
public:
    /// `model` is on the meta device. Modules that are added later become known when their parameters are used.
    explicit TraceScopes(const std::shared_ptr<torch::nn::Module>& model);
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
    /// A backward node's name without the engine's prefix.
    static std::string_view short_name(std::string_view name);
    void use(const torch::Tensor& tensor);
    void look_at_parameters();
    static const c10::StorageImpl* storage_of(const torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

    std::weak_ptr<torch::nn::Module> model_;
    TraceScopes* before_;
    at::CallbackHandle callback_{};
    std::unordered_map<const c10::StorageImpl*, std::string> modules_;  ///< the key is a parameter's storage
    std::unordered_map<std::int64_t, std::string> forward_;             ///< modules; the key is the number of their autograd node
    std::string module_;
    std::string outermost_;  ///< the outermost operator that runs
    int depth_ = 0;
    std::int64_t phases_ = 0;  ///< TraceRecorder::phases at the last operator
};

}  // namespace hpo::libtorch::prediction

#ifndef HPO_COMPILED
#include "hpo/torch/prediction/impl/trace_scopes_inl.hpp"
#endif
