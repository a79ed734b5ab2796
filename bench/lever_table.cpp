// SPDX-License-Identifier: MIT
// What each lever of a text model costs and saves: peak memory on a metered device and seconds computed for a step, each against
// the plain run of its round. Prints the first table of docs/measurements/levers.md.
//   lever_table [ROUNDS]      3 rounds unless told; every attempt in a process of its own
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/measured_job.hpp"
#include "bench/number_argument.hpp"
#include "bench/own_process.hpp"
#include "hpo/device/metered_device.hpp"
#include "text_classifier/text_classifier.hpp"

namespace {

constexpr std::int64_t steps = 4;
constexpr std::int64_t batch = 32;

/// An encoder of 4 layers and 256 numbers for each token, AdamW, 32 texts of 40 to 126 words a step, all in one pass.
hpo::TrainerJob plain(const std::filesystem::path& data) {
    hpo::TrainerJob job;
    job.params = {{"train.batch_size", batch}, {"optim.lr", 1e-3}};
    job.options = {{"data", data.string()},
                   {"test_share", 0.0},
                   {"validation_share", 0.1},
                   {"train_examples", steps * batch},
                   {"validation_examples", std::int64_t{1}},
                   {"tok.max_length", std::int64_t{128}},
                   {"model.layers", std::int64_t{4}},
                   {"model.hidden", std::int64_t{256}},
                   {"model.heads", std::int64_t{4}},
                   {"model.intermediate", std::int64_t{1024}},
                   {"epochs", std::int64_t{2}},
                   {"threads", std::int64_t{1}}};
    job.metric = "loss";
    return job;
}

struct Lever {
    std::string name;
    std::function<void(hpo::TrainerJob&)> pull;
};

std::vector<Lever> levers() {
    using Job = hpo::TrainerJob;
    const auto text = [](const char* word) { return hpo::Value{std::string{word}}; };
    return {
        {"plain", [](Job&) {}},
        {"micro-batch 8 of 32", [](Job& job) { job.plan.micro_batch = 8; }},
        {"2 batches of 16 accumulated",
         [](Job& job) {
             job.params["train.batch_size"] = std::int64_t{16};
             job.params["train.grad_accum"] = std::int64_t{2};
         }},
        {"60 texts evaluated, at once",
         [](Job& job) {
             job.options["validation_share"] = 0.3;
             job.options["validation_examples"] = std::int64_t{60};
             job.options["eval_batch"] = std::int64_t{2};
         }},
        {"activation checkpointing", [](Job& job) { job.plan.activation_checkpointing = true; }},
        {"bf16 autocast", [](Job& job) { job.plan.precision = hpo::Precision::bf16; }},
        {"bf16 and checkpointing",
         [](Job& job) {
             job.plan.precision = hpo::Precision::bf16;
             job.plan.activation_checkpointing = true;
         }},
        {"tok.max_length 64", [](Job& job) { job.options["tok.max_length"] = std::int64_t{64}; }},
        {"length_buckets 1 (not 16)", [](Job& job) { job.options["length_buckets"] = std::int64_t{1}; }},
        {"frozen embeddings", [](Job& job) { job.params["train.frozen_embeddings"] = true; }},
        {"2 frozen layers", [](Job& job) { job.params["train.frozen_layers"] = std::int64_t{2}; }},
        {"linear probe", [=](Job& job) { job.params["train.tuning"] = text("probe"); }},
        {"LoRA, rank 8, all layers", [=](Job& job) { job.params["train.tuning"] = text("lora"); }},
        {"LoRA, rank 8, query,value",
         [=](Job& job) {
             job.params["train.tuning"] = text("lora");
             job.params["lora.targets"] = text("query,value");
         }},
        {"sgd (not adamw)", [=](Job& job) { job.params["optim.kind"] = text("sgd"); }},
        {"adafactor (not adamw)", [=](Job& job) { job.params["optim.kind"] = text("adafactor"); }},
        {"gradient clipping", [](Job& job) { job.params["optim.clip_norm"] = 1.0; }},
        {"layer-wise decay 0.9", [](Job& job) { job.params["optim.layer_decay"] = 0.9; }},
        {"cosine schedule with warm-up",
         [=](Job& job) {
             job.params["optim.schedule"] = text("cosine");
             job.params["optim.warmup"] = 0.1;
         }},
        {"label smoothing", [](Job& job) { job.params["train.label_smoothing"] = 0.1; }},
        {"class weights", [=](Job& job) { job.params["train.class_weights"] = text("balanced"); }},
        {"early stopping", [](Job& job) { job.options["train.patience"] = std::int64_t{9}; }},
        {"2 loader workers", [](Job& job) { job.options["loader_workers"] = std::int64_t{2}; }},
    };
}

double median(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return (numbers[(numbers.size() - 1) / 2] + numbers[numbers.size() / 2]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
    const long rounds = bench::NumberArguments{argc, argv, 1, "lever_table [rounds]"}.at(1, {.standard = 3, .least = 1});
    const auto place = std::filesystem::temp_directory_path() / ("lever_table_" + std::to_string(::getpid()));
    std::filesystem::create_directory(place);
    bench::write_texts(place / "texts.tsv", 200, {.fewest = 40, .most = 126});
    const std::vector<Lever> all = levers();
    std::vector<std::vector<double>> seconds(all.size());
    std::vector<std::vector<double>> ratios(all.size());
    std::vector<double> bytes(all.size());
    for (long round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto measured = bench::in_own_process([&] {
                const auto device = hpo::device::MeteredDevice::create(place / "device", std::int64_t{8} << 30);
                hpo::TrainerJob job = plain(place / "texts.tsv");
                job.metered_device = (place / "device").string();
                all[i].pull(job);
                hpo::text_classifier::TextClassifier trainer;
                const bench::Cost cost = bench::cost_of(trainer, job);
                return std::vector{cost.last_epoch_computed, cost.peak_bytes};
            });
            seconds[i].push_back(measured.at(0) / static_cast<double>(steps));
            ratios[i].push_back(seconds[i].back() / seconds[0].back());
            bytes[i] = measured.at(1);
        }
    }
    std::filesystem::remove_all(place);
    std::printf("| lever | peak MiB | peak | ms/step | time |\n|---|---:|---:|---:|---:|\n");
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::printf("| %s | %.1f | %.2f | %.0f | %.2f |\n", all[i].name.c_str(), bytes[i] / (1 << 20), bytes[i] / bytes[0],
                    1000 * median(seconds[i]), median(ratios[i]));
    }
}
