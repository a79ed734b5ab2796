// SPDX-License-Identifier: MIT
// What a training step through a plugin costs, against a loop that somebody would write over bare LibTorch for the same model, data and
// optimizer. Runs are interleaved, each in a process of its own; the figure is the median of the paired ratios. The bare loop runs over
// LibTorch's own allocator and over the plugin's, which keeps freed memory and is faster than that.
//   training_overhead [ROUNDS]      20 unless told; needs Debian's dataset-fashion-mnist
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/measured_job.hpp"
#include "bench/number_argument.hpp"
#include "bench/own_process.hpp"
#include "hpo/dataset/text_dataset.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/threads.hpp"
#include "image_classifier/image_classifier.hpp"
#include "text_classifier/text_classifier.hpp"

namespace {

constexpr std::int64_t batch = 64;
constexpr int threads = 1;  // LibTorch waits for its threads in a loop, which says more of what else runs than of a step
constexpr const char* images_folder = "/usr/share/datasets/fashion-mnist";

/// Two epochs of `steps` steps over bare LibTorch; returns the seconds of the second. `batch_of(indices)` makes a batch.
template <class BatchOf>
double bare_epoch(hpo::libtorch::Model& model, std::int64_t steps, const BatchOf& batch_of) {
    hpo::libtorch::pin_threads(threads);
    torch::optim::AdamW optimizer{model.parameters(), torch::optim::AdamWOptions{1e-3}.weight_decay(0)};
    model.train();
    double seconds = 0;
    double loss_sum = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
        const auto begin = std::chrono::steady_clock::now();
        const torch::Tensor order = torch::randperm(steps * batch, torch::kLong);
        for (std::int64_t step = 0; step < steps; ++step) {
            const hpo::libtorch::Batch data = batch_of(order.slice(0, step * batch, (step + 1) * batch));
            const torch::Tensor loss = torch::nn::functional::cross_entropy(model.forward(data), data.targets);
            loss_sum += loss.item<double>();
            optimizer.zero_grad();
            loss.backward();
            optimizer.step();
        }
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    if (!(loss_sum < 1e9)) throw std::runtime_error{"the bare loop diverged"};
    return seconds;
}

/// A model of the image plugin, on images that lie in memory as floats for the bare loop.
struct ImageCase {
    std::string kind;
    std::int64_t channels;
    std::int64_t steps;

    [[nodiscard]] double through_plugin() const {
        hpo::image_classifier::ImageClassifier trainer;
        hpo::TrainerJob job;
        job.params = {{"model.kind", kind}, {"model.channels", channels}, {"train.batch_size", batch}, {"optim.lr", 1e-3}};
        job.options = {{"epochs", std::int64_t{2}},
                       {"threads", std::int64_t{threads}},
                       {"train_examples", steps * batch},
                       {"validation_examples", std::int64_t{1}}};
        job.metric = "loss";
        return bench::cost_of(trainer, job).last_epoch_seconds;
    }
    [[nodiscard]] double bare() const {
        const auto set = hpo::image_classifier::read_images(images_folder, "train");
        std::vector<std::int64_t> chosen(static_cast<std::size_t>(steps * batch));
        std::iota(chosen.begin(), chosen.end(), std::int64_t{0});
        const auto all = hpo::image_classifier::image_batch(set, hpo::image_classifier::pixel_scale(set, chosen), chosen, torch::kCPU);
        const auto model = hpo::image_classifier::make_model(kind, {.channels = channels});
        return bare_epoch(*model, steps, [&](const torch::Tensor& indices) {
            return hpo::libtorch::Batch{{all.inputs[0].index_select(0, indices)}, all.targets.index_select(0, indices)};
        });
    }
};

/// A small encoder from scratch on texts of one length.
struct TextCase {
    std::filesystem::path file;
    std::int64_t steps;

    [[nodiscard]] double through_plugin() const {
        hpo::text_classifier::TextClassifier trainer;
        hpo::TrainerJob job;
        job.params = {{"train.batch_size", batch}, {"optim.lr", 1e-3}};
        job.options = {{"data", file.string()},
                       {"test_share", 0.0},
                       {"validation_share", 0.01},
                       {"train_examples", steps * batch},
                       {"validation_examples", std::int64_t{1}},
                       {"tok.max_length", std::int64_t{64}},
                       {"epochs", std::int64_t{2}},
                       {"threads", std::int64_t{threads}}};
        job.metric = "loss";
        return bench::cost_of(trainer, job).last_epoch_seconds;
    }
    [[nodiscard]] double bare() const {
        const auto set = hpo::dataset::read_dataset({.data = file.string(), .split = {.test = 0, .validation = 0.01}});
        hpo::text::WordCounts words;
        for (std::int64_t i = 0; i < set.train.size(); ++i) words.add(set.train.text(i));
        const auto tokenizer = words.tokenizer(8000);
        const auto texts = hpo::text_classifier::encode(set.train, tokenizer, 64);
        const hpo::text::EncoderConfig config{.vocabulary = static_cast<std::int64_t>(tokenizer.size()),
                                              .hidden = 128,
                                              .layers = 2,
                                              .heads = 2,
                                              .intermediate = 512,
                                              .positions = 64,
                                              .pad = tokenizer.special().pad};
        hpo::text_classifier::TextModel model{hpo::libtorch::draw_encoder(config, "bench"), {.classes = set.labels.size()}};
        return bare_epoch(model, steps, [&](const torch::Tensor& indices) {
            const std::vector<std::int64_t> chosen(indices.data_ptr<std::int64_t>(), indices.data_ptr<std::int64_t>() + indices.numel());
            return hpo::text_classifier::text_batch(texts, chosen, tokenizer.special().pad, torch::kCPU);
        });
    }
};

[[nodiscard]] double quantile(std::vector<double> numbers, double share) {
    std::sort(numbers.begin(), numbers.end());
    const double at = share * static_cast<double>(numbers.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, numbers.size() - 1);
    return numbers[below] + (at - static_cast<double>(below)) * (numbers[above] - numbers[below]);
}

/// One case's runs: through the plugin, bare, and bare over the plugin's allocator, each round in another order.
template <class Case>
void compare(const std::string& name, const Case& each, int rounds) {
    const std::array<std::function<double()>, 3> ways{[&] { return each.through_plugin(); }, [&] { return each.bare(); },
                                                      [&] {
                                                          hpo::libtorch::MeteredAllocator::install();
                                                          return each.bare();
                                                      }};
    std::array<std::vector<double>, 2> ratios;
    std::vector<double> bare_milliseconds;
    for (int round = 0; round < rounds; ++round) {
        std::array<double, 3> seconds{};
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const std::size_t way = (i + static_cast<std::size_t>(round)) % ways.size();
            seconds[way] = bench::in_own_process([&] { return std::vector{ways[way]()}; })[0];
        }
        for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i].push_back(seconds[0] / seconds[i + 1]);
        bare_milliseconds.push_back(1000 * seconds[1] / static_cast<double>(each.steps));
    }
    std::printf("| %s | %.1f |", name.c_str(), quantile(bare_milliseconds, 0.5));
    for (const auto& ratio : ratios)
        std::printf(" %.3f (%.3f to %.3f) |", quantile(ratio, 0.5), quantile(ratio, 0.25), quantile(ratio, 0.75));
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 1, "training_overhead [rounds]"};
    const int rounds = static_cast<int>(numbers.at(1, {.standard = 20, .least = 1}));
    const auto file = std::filesystem::temp_directory_path() / ("training_overhead_" + std::to_string(::getpid()) + ".tsv");
    bench::write_texts(file, 64 * 26, {.fewest = 62, .most = 62});
    std::printf("| model | bare, ms/step | plugin / bare (quartiles) | plugin / bare over the same allocator |\n|---|---:|---:|---:|\n");
    for (const ImageCase& image : {ImageCase{"mlp", 16, 150}, ImageCase{"cnn", 16, 20}, ImageCase{"resnet", 16, 2}}) {
        compare(image.kind, image, rounds);
    }
    compare("text encoder", TextCase{file, 5}, rounds);
    std::filesystem::remove(file);
}
