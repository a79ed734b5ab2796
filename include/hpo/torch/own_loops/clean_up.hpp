// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <type_traits>

#include "hpo/core/memory_reading.hpp"

namespace hpo::libtorch {

/// What a clean-up did.
struct CleanUp {
    MemoryReading before;
    MemoryReading after;
    std::string problem;  ///< what went wrong in the clean-up itself; empty if nothing did
};

/// Gives back what a failed computation left behind: the tensors in autograd's queue of this thread, and cached memory. Never throws, so
/// that a clean-up cannot hide the failure. Call it after the handler of the exception, when the objects of the failed computation are
/// gone.
///
/// Design note: a backward pass that fails on the CPU leaves its unfinished work in a queue of the calling thread, with its tensors. A
/// later pass that is the last in the order of the queue takes them out.
[[nodiscard]] CleanUp clean_up(c10::Device device) noexcept;

}  // namespace hpo::libtorch

namespace hpo::libtorch::detail {

template <class Holder>
void drop(Holder& holder) {
    static_assert(
        !requires { holder.named_buffers(); }, "expected the holder of a module, such as torch::nn::Linear, not the module");
    if constexpr (requires { holder.reset(); }) {  // tensors, pointers, optionals
        holder.reset();
    } else if constexpr (requires { holder = nullptr; }) {  // LibTorch's module holders
        holder = nullptr;
    } else {  // containers, batches
        static_assert(std::is_default_constructible_v<Holder> && std::is_move_assignable_v<Holder>,
                      "expected a tensor, a smart pointer, an optional, a module holder, a container or a Batch");
        holder = Holder{};
    }
}

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

/// The same. First drops what the holders refer to: tensors, smart pointers, optionals, module holders such as torch::nn::Linear,
/// containers of tensors, batches. Give a pointer to the optimizer as well: it holds the model's parameters.
template <class... Holders>
[[nodiscard]] CleanUp clean_up(c10::Device device, Holders&... holders) noexcept {
    (detail::drop(holders), ...);
    return clean_up(device);
}

}  // namespace hpo::libtorch
