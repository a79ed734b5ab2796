// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// A program's own model and data, with nothing of hpo: what its loop does depends on random numbers and on buffers.
namespace own_model {

struct Net final : torch::nn::Module {
    Net() {
        first = register_module("first", torch::nn::Linear{6, 32});
        beside = register_module("beside", torch::nn::Linear{6, 32});
        norm = register_module("norm", torch::nn::BatchNorm1d{32});
        dropout = register_module("dropout", torch::nn::Dropout{0.4});
        second = register_module("second", torch::nn::Linear{32, 3});
    }
    torch::Tensor forward(const torch::Tensor& x) { return second(dropout(torch::relu(norm(first(x)) + torch::tanh(beside(x))))); }
    torch::nn::Linear first{nullptr};
    torch::nn::Linear beside{nullptr};  // a branch: while the other is computed, its work waits in autograd's queue
    torch::nn::BatchNorm1d norm{nullptr};
    torch::nn::Dropout dropout{nullptr};
    torch::nn::Linear second{nullptr};
};

/// A model, an optimizer and 60 points. Two of them that do the same have the same bits.
struct Training {
    Training() {
        torch::set_num_threads(1);  // several wait for each other in loops, and slow down what else runs
        torch::manual_seed(3);
        model = std::make_shared<Net>();
        x = torch::randn({60, 6});
        y = x.slice(1, 0, 3).argmax(1);
        optimizer = std::make_unique<torch::optim::AdamW>(model->parameters(), torch::optim::AdamWOptions{0.01});
        model->train();
        torch::manual_seed(5);
    }
    [[nodiscard]] torch::Tensor loss_sum(std::span<const std::int64_t> part) {
        const auto chosen = torch::tensor(std::vector<std::int64_t>(part.begin(), part.end()), torch::kLong);
        return torch::nn::functional::cross_entropy(model->forward(x.index_select(0, chosen)), y.index_select(0, chosen),
                                                    torch::nn::functional::CrossEntropyFuncOptions{}.reduction(torch::kSum));
    }
    /// A step as somebody writes it without hpo.
    void plain_step(std::span<const std::int64_t> examples, std::size_t micro) {
        optimizer->zero_grad();
        for (std::size_t at = 0; at < examples.size(); at += micro) {
            const auto part = examples.subspan(at, std::min(micro, examples.size() - at));
            (loss_sum(part) / static_cast<double>(examples.size())).backward();
        }
        optimizer->step();
    }
    /// All numbers that a training changes: parameters and buffers.
    [[nodiscard]] std::vector<torch::Tensor> numbers() const {
        std::vector<torch::Tensor> all;
        for (const auto& tensor : model->parameters()) all.push_back(tensor.detach().clone());
        for (const auto& tensor : model->buffers()) all.push_back(tensor.clone());
        return all;
    }

    std::shared_ptr<Net> model;
    torch::Tensor x;
    torch::Tensor y;
    std::unique_ptr<torch::optim::AdamW> optimizer;
};

/// The examples of a step, 20 each, and 10 in every third.
inline std::vector<std::int64_t> examples_of(std::int64_t step) {
    std::vector<std::int64_t> examples;
    for (std::int64_t i = 0; i < (step % 3 == 2 ? 10 : 20); ++i) examples.push_back((step * 20 + i) % 60);
    return examples;
}

inline bool same_bits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!torch::equal(a[i], b[i])) return false;
    }
    return true;
}

}  // namespace own_model
