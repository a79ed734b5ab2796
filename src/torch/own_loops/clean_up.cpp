// SPDX-License-Identifier: MIT
#include "hpo/torch/own_loops/clean_up.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/torch.h>
#include <exception>
#include <memory>

#include "hpo/torch/memory_reading.hpp"
#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch::detail {

/// The last in the order of autograd's queue: all other work has a higher number.
struct LastInQueue final : torch::autograd::Node {
    LastInQueue() : Node{0} {}
    torch::autograd::variable_list apply(torch::autograd::variable_list&& /*gradients*/) override { return {}; }
};

/// Takes the work of failed passes out of this thread's queue.
void empty_autograd_queue() {
    const Unmetered outside;
    const torch::AutoGradMode with_gradients{true};
    torch::Tensor nothing = torch::zeros({1});
    torch::autograd::set_history(nothing, std::make_shared<LastInQueue>());
    nothing.backward();
}

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

CleanUp clean_up(c10::Device device) noexcept {
    CleanUp done;
    try {
        done.before = read_memory(device);
        detail::empty_autograd_queue();
        release_cached_memory(device);
        done.after = read_memory(device);
    } catch (const std::exception& error) {  // after a sticky error a GPU answers nothing
        done.problem = error.what();
    } catch (...) {
        done.problem = "an exception that is no std::exception";
    }
    return done;
}

}  // namespace hpo::libtorch
