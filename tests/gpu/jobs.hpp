// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "bench/measured_job.hpp"
#include "bench/prediction_grid.hpp"
#include "support/temporary_directory.hpp"

/// What the tests on a GPU train: the configurations that predictions are held against, on data that they make up.
namespace gpu {

/// Writes `count` grey images of 28 x 28 pixels in ten classes, with two brighter rows that tell the class, as IDX files.
inline void write_images(const std::filesystem::path& folder, std::uint32_t count) {
    std::filesystem::create_directories(folder);
    std::ofstream images{folder / "train-images-idx3-ubyte.gz", std::ios::binary};  // which need not be compressed
    std::ofstream labels{folder / "train-labels-idx1-ubyte.gz", std::ios::binary};
    const auto begin = [&](std::ofstream& out, const std::vector<std::uint32_t>& sizes) {
        for (const std::size_t byte : {std::size_t{0}, std::size_t{0}, std::size_t{8}, sizes.size()}) out.put(static_cast<char>(byte));
        for (const std::uint32_t size : sizes) {
            for (const int shift : {24, 16, 8, 0}) out.put(static_cast<char>(size >> shift & 255));
        }
    };
    begin(images, {count, 28, 28});
    begin(labels, {count});
    std::mt19937 random{1};
    for (std::uint32_t image = 0; image < count; ++image) {
        const auto label = static_cast<unsigned>(random() % 10);
        labels.put(static_cast<char>(label));
        for (unsigned pixel = 0; pixel < 28 * 28; ++pixel) images.put(static_cast<char>(random() % 128 + (pixel / 56 == label ? 127 : 0)));
    }
}

/// A folder with the data of every family.
class MadeUpData {
public:
    MadeUpData() {
        bench::write_texts(data_.texts, 200, {.fewest = 20, .most = 160});
        write_images(data_.images, 500);
    }
    [[nodiscard]] hpo::TrainerJob job_of(const bench::Configuration& configuration) const {
        hpo::TrainerJob job = bench::job_of(configuration, data_);
        job.plan.device = "cuda:0";
        return job;
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return place_.path(); }

private:
    hpo::tests::TemporaryDirectory place_;
    bench::Data data_{.texts = place_.path() / "texts.tsv", .images = place_.path() / "images"};
};

inline const bench::Pull fp16 = [](hpo::TrainerJob& job) { job.plan.precision = hpo::Precision::fp16; };

/// Whether the tests run on a virtual card, which has no values and no recurrent networks of cuDNN.
[[nodiscard]] inline bool card_is_virtual() { return std::getenv("HPO_VIRTUAL_CARD") != nullptr; }

/// The configurations of the table of predictions, every family in fp16, and a few of a size that a GPU is for.
[[nodiscard]] inline std::vector<bench::Configuration> configurations() {
    using bench::Family;
    using bench::set;
    using bench::whole;
    std::vector<bench::Configuration> all = bench::configurations();
    for (const Family family : {Family::mlp, Family::cnn, Family::resnet, Family::encoder, Family::lstm})
        all.push_back({family, "fp16", {fp16}});
    const auto batch = [](std::int64_t examples) { return set("train.batch_size", whole(examples)); };
    const std::vector<bench::Pull> base{set("model.hidden", whole(768)), set("model.layers", whole(12)), set("model.heads", whole(12)),
                                        set("model.intermediate", whole(3072)), set("tok.max_length", whole(128))};
    all.push_back(
        {Family::mlp, "width 4096, depth 4, batch 256", {set("model.width", whole(4096)), set("model.depth", whole(4)), batch(256)}});
    all.push_back({Family::resnet, "32 channels, batch 256", {set("model.channels", whole(32)), batch(256)}});
    all.push_back({Family::encoder, "hidden 768, 12 layers, length 128", base});
    const auto and_also = [&](std::vector<bench::Pull> pulls) {
        pulls.insert(pulls.begin(), base.begin(), base.end());
        return pulls;
    };
    all.push_back({Family::encoder, "the same in fp16", and_also({fp16})});
    all.push_back({Family::encoder, "the same in bf16, checkpointing", and_also({bench::bf16, bench::recompute})});
    all.push_back(
        {Family::lstm, "width 512, length 200, batch 128", {set("model.width", whole(512)), set("length", whole(200)), batch(128)}});
    if (card_is_virtual()) std::erase_if(all, [](const bench::Configuration& each) { return each.family == Family::lstm; });
    return all;
}

}  // namespace gpu
