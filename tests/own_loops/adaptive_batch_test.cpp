// SPDX-License-Identifier: MIT
#include "hpo/torch/own_loops/adaptive_batch.hpp"

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "own_model.hpp"
#include "support/catch.hpp"

using namespace hpo::libtorch;
using namespace own_model;
using Catch::Contains;

namespace {

constexpr std::int64_t all_steps = 6;

/// The micro-batch of each step, and the numbers at the end of a training with them that nothing interrupted and that knows nothing of hpo.
std::vector<torch::Tensor> plain_training(const std::vector<std::size_t>& micro_batches) {
    Training training;
    for (std::int64_t step = 0; step < all_steps; ++step)
        training.plain_step(examples_of(step), micro_batches[static_cast<std::size_t>(step)]);
    return training.numbers();
}

/// Allocations of one step's passes, of the first backward among them, and whether one was in forward.
struct Counts {
    std::int64_t first_forward = 0;  ///< up to the end of the first micro-batch's forward pass
    std::int64_t passes = 0;         ///< up to the last micro-batch's backward pass
};

Counts counts_of_step(std::int64_t of_step, std::int64_t micro) {
    MeteredAllocator& meter = MeteredAllocator::instance();
    Training training;
    Counts counts;
    std::int64_t begin = 0;
    AdaptiveBatch adaptive{*training.model, *training.optimizer, {.micro_batch = micro, .before_update = [&] {
                                                                      counts.passes = meter.allocations() - begin;
                                                                  }}};
    for (std::int64_t step = 0; step <= of_step; ++step) {
        counts.first_forward = 0;
        bool first = true;
        adaptive.step(examples_of(step), [&](auto part) {
            if (first) begin = meter.allocations();
            const torch::Tensor loss = training.loss_sum(part);
            if (first) counts.first_forward = meter.allocations() - begin;
            first = false;
            return loss;
        });
    }
    return counts;
}

}  // namespace

TEST_CASE("a training without an out-of-memory equals a plain loop to the last bit") {
    MeteredAllocator::install();
    for (const std::int64_t micro : {20, 7, 100}) {
        CAPTURE(micro);
        Training training;
        AdaptiveBatch adaptive{*training.model, *training.optimizer, {.micro_batch = micro}};
        for (std::int64_t step = 0; step < all_steps; ++step) {
            const double loss = adaptive.step(examples_of(step), [&](auto part) { return training.loss_sum(part); });
            CHECK(std::isfinite(loss));
        }
        CHECK(adaptive.steps() == all_steps);
        CHECK(adaptive.micro_batch() == micro);
        CHECK(same_bits(training.numbers(), plain_training(std::vector<std::size_t>(all_steps, static_cast<std::size_t>(micro)))));
    }
}

TEST_CASE("a training whose memory runs out anywhere in a step equals an uninterrupted one with that micro-batch to the last bit") {
    MeteredAllocator::install();
    MeteredAllocator& meter = MeteredAllocator::instance();
    for (const std::int64_t failing : {0, 3}) {
        const Counts counts = counts_of_step(failing, 10);
        REQUIRE(counts.first_forward > 5);
        REQUIRE(counts.passes > counts.first_forward + 5);
        std::vector<std::size_t> micro_batches(all_steps, 10);
        for (std::int64_t step = failing; step < all_steps; ++step) micro_batches[static_cast<std::size_t>(step)] = 5;
        const auto expected = plain_training(micro_batches);
        CHECK_FALSE(same_bits(expected, plain_training(std::vector<std::size_t>(all_steps, 10))));  // it matters when
        for (std::int64_t point = 1; point <= counts.passes; ++point) {
            CAPTURE(failing, point, counts.first_forward, counts.passes);
            Training training;
            std::vector<MicroBatchChange> changes;
            AdaptiveBatch adaptive{*training.model,
                                   *training.optimizer,
                                   {.micro_batch = 10, .changed = [&](const MicroBatchChange& change) { changes.push_back(change); }}};
            bool armed = false;
            for (std::int64_t step = 0; step < all_steps; ++step) {
                adaptive.step(examples_of(step), [&](auto part) {
                    if (step == failing && !armed) {
                        meter.refuse_nth(point);
                        armed = true;
                    }
                    return training.loss_sum(part);
                });
            }
            meter.refuse_nth(0);
            REQUIRE(changes.size() == 1);
            CHECK(changes[0].from == 10);
            CHECK(changes[0].to == 5);
            CHECK(changes[0].step == failing + 1);
            CHECK(changes[0].failure.kind == hpo::FailureKind::out_of_memory);
            CHECK(changes[0].failure.requested_bytes > 0);
            CHECK(adaptive.steps() == all_steps);
            CHECK(same_bits(training.numbers(), expected));
        }
    }
}

TEST_CASE("the micro-batch halves until a step fits the cap, and stays") {
    MeteredAllocator::install();
    MeteredAllocator& meter = MeteredAllocator::instance();
    torch::set_num_threads(1);
    torch::manual_seed(1);
    torch::nn::Sequential model{torch::nn::Linear{64, 4096}, torch::nn::ReLU{}, torch::nn::Linear{4096, 1}};
    torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions{0.01}};
    const torch::Tensor x = torch::randn({256, 64});
    std::vector<std::int64_t> examples(256);
    for (std::size_t i = 0; i < examples.size(); ++i) examples[i] = static_cast<std::int64_t>(i);
    std::vector<std::int64_t> micro_batches;
    AdaptiveBatch adaptive{*model, optimizer, {.micro_batch = 256, .changed = [&](const MicroBatchChange& change) {
                                                   micro_batches.push_back(change.to);
                                                   CHECK(change.clean_up.problem == "");
                                               }}};
    const auto loss = [&](std::span<const std::int64_t> part) {
        return model->forward(x.slice(0, part.front(), part.back() + 1)).pow(2).sum();
    };
    const std::int64_t gradients = 4 * (64 * 4096 + 4096 + 4096 + 1);
    constexpr std::int64_t activation = 256 * 4096 * 4;  // of one layer, for all examples; a pass keeps two or more of them
    meter.set_cap(meter.allocated_bytes() + 2 * gradients + activation);
    for (int step = 0; step < 3; ++step) adaptive.step(examples, loss);
    meter.set_cap(std::nullopt);
    CHECK(adaptive.steps() == 3);
    REQUIRE_FALSE(micro_batches.empty());
    CHECK(micro_batches.front() == 128);
    CHECK(adaptive.micro_batch() == micro_batches.back());
    CHECK(adaptive.micro_batch() < 256);
    CHECK(adaptive.micro_batch() > 1);
}

TEST_CASE("an out-of-memory at the least micro-batch, or in the update, is passed on without a further update and without gradients") {
    MeteredAllocator::install();
    MeteredAllocator& meter = MeteredAllocator::instance();
    const auto no_gradients = [](const Training& training) {
        for (const auto& parameter : training.model->parameters()) CHECK_FALSE(parameter.grad().defined());
    };
    {
        Training training;
        int told = 0;
        AdaptiveBatch adaptive{
            *training.model, *training.optimizer, {.micro_batch = 8, .least = 4, .changed = [&](const auto&) { ++told; }}};
        adaptive.step(examples_of(0), [&](auto part) { return training.loss_sum(part); });
        const auto before = training.model->parameters().front().detach().clone();
        const auto full = [&](auto part) {
            static_cast<void>(training.loss_sum(part));
            meter.refuse_nth(1);
            return training.loss_sum(part);
        };
        CHECK_THROWS_AS(adaptive.step(examples_of(1), full), c10::OutOfMemoryError);
        CHECK(told == 1);
        CHECK(adaptive.micro_batch() == 4);
        CHECK(adaptive.steps() == 1);
        CHECK(torch::equal(training.model->parameters().front(), before));
        no_gradients(training);
        meter.refuse_nth(0);
        adaptive.step(examples_of(1), [&](auto part) { return training.loss_sum(part); });
        CHECK(adaptive.steps() == 2);
    }
    {
        Training training;
        AdaptiveBatch adaptive{*training.model, *training.optimizer, {.micro_batch = 8, .before_update = [&] { meter.refuse_nth(1); }}};
        CHECK_THROWS_AS(adaptive.step(examples_of(0), [&](auto part) { return training.loss_sum(part); }), c10::OutOfMemoryError);
        meter.refuse_nth(0);
        CHECK(adaptive.steps() == 0);
        CHECK(adaptive.micro_batch() == 8);
        no_gradients(training);
    }
}

TEST_CASE("any other exception is passed on at once, and a loss that is not finite makes no update") {
    MeteredAllocator::install();
    Training training;
    int told = 0;
    AdaptiveBatch adaptive{
        *training.model, *training.optimizer, {.micro_batch = 10, .configuration = "lr = 0.01", .changed = [&](const auto&) { ++told; }}};
    const auto before = training.model->parameters().front().detach().clone();
    int calls = 0;
    CHECK_THROWS_WITH(adaptive.step(examples_of(0),
                                    [&](auto part) {
                                        if (++calls == 2) throw std::runtime_error{"no such file"};
                                        return training.loss_sum(part);
                                    }),
                      "no such file");
    CHECK(calls == 2);
    CHECK_THROWS_WITH(adaptive.step(examples_of(0), [&](auto part) { return training.loss_sum(part) * std::nan(""); }),
                      "the loss is NaN in training, at step 1; configuration: lr = 0.01");
    CHECK_THROWS_WITH(adaptive.step(examples_of(0), [&](auto) { return torch::zeros({2}); }),
                      Contains("AdaptiveBatch: the loss: got shape [2] and no gradient; expected one number with a gradient"));
    CHECK_THROWS_WITH(adaptive.step({}, [&](auto part) { return training.loss_sum(part); }),
                      Contains("got no examples; expected 1 or more"));
    CHECK(told == 0);
    CHECK(adaptive.steps() == 0);
    CHECK(torch::equal(training.model->parameters().front(), before));
    CHECK_THROWS_WITH((AdaptiveBatch{*training.model, *training.optimizer, {.micro_batch = 2, .least = 3}}),
                      Contains("AdaptiveBatch: micro_batch: got 2; expected 3 or more"));
    CHECK_THROWS_WITH((AdaptiveBatch{*training.model, *training.optimizer, {.micro_batch = 2, .least = 0}}), Contains("least: got 0"));
}
