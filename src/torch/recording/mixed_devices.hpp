// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace hpo::libtorch {

/// While it lives, it notes this thread's first operator that gets both a tensor of the meta device and one in host memory. If the meta
/// device stands in for a GPU, that operator ends in an error on the GPU: somebody made a tensor without a device. A single number in host
/// memory is no such tensor, and operators that take both are left out. One at a time in a thread.
class MixedDevices {
public:
    /// `place()` says in words which module runs. It may be empty.
    explicit MixedDevices(std::function<std::string()> place);
    ~MixedDevices();
    MixedDevices(const MixedDevices&) = delete;
    MixedDevices& operator=(const MixedDevices&) = delete;

    /// The operator, the shape of its tensor in host memory, and what would be right. Empty if there was none.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    static MixedDevices*& current() {
        thread_local MixedDevices* current = nullptr;
        return current;
    }
    static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& function) {
        if (current() && current()->what_.empty()) current()->look(function);
        return nullptr;
    }
    /// Asks where that was: only now have all who listen heard that the operator began.
    static void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
        if (current() && !current()->what_.empty() && current()->problem_.empty()) current()->tell();
    }
    void look(const at::RecordFunction& function);
    void tell();
    /// False if the operator may get tensors of both, or only calls others.
    static bool needs_one_device(const at::RecordFunction& function);

    std::function<std::string()> place_;
    MixedDevices* before_;
    at::CallbackHandle callback_{};
    std::string what_;  ///< the operator and its tensor
    std::string problem_;
};

}  // namespace hpo::libtorch
