// SPDX-License-Identifier: MIT
// Cleans up after a failed trial of one's own program, so that the next trial has the whole device. The clean-up cannot fail itself.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/clean_up.hpp"

int main() {
    using namespace hpo::libtorch;
    MeteredAllocator::install();
    MeteredAllocator::instance().set_cap(40'000'000);
    for (const std::int64_t width : {4000, 1000}) {
        torch::nn::Linear model{width, 1000};
        auto optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions{0.1});
        std::exception_ptr error;
        try {
            model->forward(torch::ones({1000, width})).pow(2).sum().backward();
            optimizer->step();
        } catch (...) {
            error = std::current_exception();
        }
        const std::string end = error ? std::string{to_text(translate_failure(error, "training", "").kind)} : "complete";
        const CleanUp done = clean_up(torch::kCPU, model, optimizer);  // after the handler
        std::printf("width %lld: %s; %lld bytes are held after it\n", static_cast<long long>(width), end.c_str(),
                    static_cast<long long>(done.after.allocated.value_or(-1)));
    }
}
