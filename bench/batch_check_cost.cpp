// SPDX-License-Identifier: MIT
// What the checks of a batch cost, as a share of a training step on the CPU: labels, ids, finite inputs, shapes, logits and loss. Steps and
// checks alternate in one process, with one thread. The figures are medians, and the data are random.
//   batch_check_cost [ROUNDS]      200 unless told
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/number_argument.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/threads.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "image_classifier/models.hpp"
#include "text_classifier/text_model.hpp"

namespace {

using hpo::libtorch::Batch;

constexpr std::int64_t batch_size = 64;
constexpr std::int64_t classes = 10;

struct Case {
    std::string name;
    std::shared_ptr<hpo::libtorch::Model> model;
    Batch batch;
    hpo::libtorch::BatchRules rules;
};

Case image_case(const std::string& kind) {
    return {kind + ", 64 images of 28 x 28",
            hpo::image_classifier::make_model(kind, {.classes = classes, .channels = 16}),
            {{torch::randn({batch_size, 1, 28, 28})}, torch::randint(classes, {batch_size}, torch::kLong)},
            {.classes = classes}};
}

Case text_case(std::int64_t tokens) {
    const hpo::text::EncoderConfig config{
        .vocabulary = 8000, .hidden = 128, .layers = 2, .heads = 2, .intermediate = 512, .positions = tokens, .pad = 0};
    return {"encoder, 64 texts of " + std::to_string(tokens) + " tokens",
            std::make_shared<hpo::text_classifier::TextModel>(hpo::libtorch::draw_encoder(config, "bench"),
                                                              hpo::text_classifier::HeadShape{.classes = classes}),
            {{torch::randint(1, 8000, {batch_size, tokens}, torch::kLong)}, torch::randint(classes, {batch_size}, torch::kLong)},
            {.classes = classes, .vocabulary = 8000, .same_shapes = false}};
}

template <class Work>
double seconds_of(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> numbers) {
    std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2), numbers.end());
    return numbers[numbers.size() / 2];
}

void measure(const Case& each, int rounds) {
    torch::optim::AdamW optimizer{each.model->parameters(), torch::optim::AdamWOptions{1e-3}};
    hpo::libtorch::BatchChecks checks{each.rules};
    std::vector<double> steps;
    std::vector<double> checked;
    each.model->train();
    for (int round = 0; round < rounds + 5; ++round) {
        torch::Tensor logits;
        torch::Tensor loss;
        const double step = seconds_of([&] {
            optimizer.zero_grad();
            logits = each.model->forward(each.batch);
            loss = torch::nn::functional::cross_entropy(logits, each.batch.targets);
            loss.backward();
            optimizer.step();
        });
        const double check = seconds_of([&] {
            checks.check_batch(each.batch);
            checks.check_logits(logits, each.batch);
            checks.check_loss(loss);
        });
        if (round < 5) continue;  // the first ones warm up
        steps.push_back(step);
        checked.push_back(check);
    }
    std::printf("| %s | %.2f | %.1f | %.2f %% |\n", each.name.c_str(), 1e3 * median(steps), 1e6 * median(checked),
                100 * median(checked) / median(steps));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 1, "batch_check_cost [rounds]"};
    const int rounds = static_cast<int>(numbers.at(1, {.standard = 200, .least = 1}));
    hpo::libtorch::MeteredAllocator::install();
    hpo::libtorch::pin_threads(1);
    torch::manual_seed(1);
    std::printf("| model | step, ms | checks, us | checks / step |\n|---|---:|---:|---:|\n");
    for (const char* kind : {"mlp", "cnn", "resnet"}) measure(image_case(kind), rounds);
    for (const std::int64_t tokens : {64, 128}) measure(text_case(tokens), rounds);
}
