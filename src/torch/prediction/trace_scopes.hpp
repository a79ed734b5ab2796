// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hpo::libtorch {

/// While it lives, this thread's recording knows what takes each block, such as "encoder.layer.0.output.dense aten::addmm". This is a
/// module and the operator that was called. An operator that uses a parameter belongs to the parameter's module. Modules do not tell when
/// they end, so an operator between two such uses belongs to the innermost module that holds both, or is told as "after" the first: what
/// follows a submodule's call is not told as the submodule's. A backward node belongs to the module of its forward operator, and a
/// parameter's own block to its module. All blocks of the phases "step" and "update" are the optimizer's. Only one at a time in a thread.
/// Every operator costs about twice as much.
class TraceScopes {
public:
    /// `model` is on the meta device. Modules that are added later become known when their parameters are used.
    explicit TraceScopes(const std::shared_ptr<torch::nn::Module>& model);
    ~TraceScopes();
    TraceScopes(const TraceScopes&) = delete;
    TraceScopes& operator=(const TraceScopes&) = delete;

    /// The module that runs in this thread, as far as it is known: "in encoder.layer.0.output", or "after" the last one that was known.
    /// Empty if none is known, or if no TraceScopes lives.
    [[nodiscard]] static std::string place();

private:
    static constexpr std::string_view after = "after ";

    /// A running operator or backward node.
    struct Frame {
        bool known = false;  ///< its module is known; otherwise it is found at the next use of a parameter
        std::string module;
        std::string outermost;  ///< the name of the outermost operator that runs
    };

    static TraceScopes*& current() {
        thread_local TraceScopes* scopes = nullptr;
        return scopes;
    }
    static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& function) {
        if (current()) current()->begin(function);
        return nullptr;
    }
    static void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
        if (current()) current()->leave();
    }

    void begin(const at::RecordFunction& function);
    void leave();
    void show_scope();
    void follow_phase();
    /// The frame's module, if it is known when the frame begins.
    void find_module(const at::RecordFunction& function, Frame& frame);
    /// The same, if the tensor is a parameter.
    void find_module(const torch::Tensor& tensor, Frame& frame);
    /// Gives the blocks and the nodes of unknown module, since the last one that was known, to the module that holds both that and the
    /// next. If only the model itself does, or if both are one module, they are "after" the last one.
    void end_gap(const std::string& next_module);
    void look_at_parameters();

    /// A backward node's name without the engine's prefix.
    static std::string_view short_name(std::string_view name);
    /// The innermost module that holds both.
    static std::string common_module(std::string_view a, std::string_view b);
    static const c10::StorageImpl* storage_of(const torch::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

    std::weak_ptr<torch::nn::Module> model_;
    TraceScopes* before_;
    at::CallbackHandle callback_{};
    std::unordered_map<const c10::StorageImpl*, std::string> modules_;  ///< the key is a parameter's storage
    std::unordered_map<std::int64_t, std::string> forward_;             ///< modules; the key is the number of their autograd node
    std::vector<Frame> frames_;
    std::string last_module_;              ///< the last known one of this phase
    std::size_t gap_begin_ = 0;            ///< the first block after it
    std::vector<std::int64_t> gap_nodes_;  ///< the autograd nodes after it
    std::int64_t phases_ = 0;              ///< TraceRecorder::phases at the last operator
    bool optimizes_ = false;               ///< the phase is "step" or "update"
};

}  // namespace hpo::libtorch
