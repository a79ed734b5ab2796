// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <unordered_map>

namespace hpo::libtorch {

/// The meta device's weights that autocast has cast in this thread. The key is the weight. They are reused until the outermost region ends.
class MetaCasts {
public:
    static torch::Tensor* find(const torch::Tensor& weight) {
        const auto found = casts().find(weight.unsafeGetTensorImpl());
        return found == casts().end() ? nullptr : &found->second;
    }
    static void keep(const torch::Tensor& weight, torch::Tensor cast) { casts().emplace(weight.unsafeGetTensorImpl(), std::move(cast)); }
    static void forget() { casts().clear(); }

private:
    static std::unordered_map<c10::TensorImpl*, torch::Tensor>& casts() {
        thread_local std::unordered_map<c10::TensorImpl*, torch::Tensor> all;
        return all;
    }
};

}  // namespace hpo::libtorch
