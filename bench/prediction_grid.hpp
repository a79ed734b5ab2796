// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adding_problem/adding_problem.hpp"
#include "hpo/trainer/trainer.hpp"
#include "image_classifier/image_classifier.hpp"
#include "text_classifier/text_classifier.hpp"

namespace bench {

/// What a configuration changes in its family's plain job.
using Pull = std::function<void(hpo::TrainerJob&)>;

[[nodiscard]] inline hpo::Value text(const char* word) { return hpo::Value{std::string{word}}; }
[[nodiscard]] inline hpo::Value whole(std::int64_t number) { return hpo::Value{number}; }

[[nodiscard]] inline Pull set(const char* name, hpo::Value value) {
    return [=](hpo::TrainerJob& job) { job.params[name] = value; };
}
[[nodiscard]] inline Pull micro(std::int64_t examples) {
    return [=](hpo::TrainerJob& job) { job.plan.micro_batch = examples; };
}
inline const Pull recompute = [](hpo::TrainerJob& job) { job.plan.activation_checkpointing = true; };
inline const Pull bf16 = [](hpo::TrainerJob& job) { job.plan.precision = hpo::Precision::bf16; };

enum class Family { mlp, cnn, resnet, encoder, lstm };
inline constexpr const char* family_names[] = {"mlp", "cnn", "resnet", "encoder", "lstm"};

struct Configuration {
    Family family;
    std::string name;
    std::vector<Pull> pulls;
};

/// What predictions are held against: every family under every optimizer and lever that it has.
[[nodiscard]] inline std::vector<Configuration> configurations() {
    std::vector<Configuration> all;
    for (const Family family : {Family::mlp, Family::cnn, Family::resnet}) {
        all.push_back({family, "plain", {}});
        all.push_back({family, "micro-batch 20 of 64", {micro(20)}});
        all.push_back({family, "sgd", {set("optim.kind", text("sgd"))}});
        all.push_back({family, "adafactor, clipping", {set("optim.kind", text("adafactor")), set("optim.clip_norm", 1.0)}});
        all.push_back({family, "checkpointing", {recompute, set("model.depth", whole(3))}});
        all.push_back({family, "bf16", {bf16}});
        all.push_back({family, "probe", {set("train.tuning", text("probe"))}});
        all.push_back({family, "dropout, smoothing", {set("train.dropout", 0.2), set("train.label_smoothing", 0.1)}});
        all.push_back({family, "lora", {set("train.tuning", text("lora"))}});
    }
    all.push_back({Family::mlp, "width 1024, depth 4", {set("model.width", whole(1024)), set("model.depth", whole(4))}});
    all.push_back({Family::cnn, "32 channels", {set("model.channels", whole(32)), set("model.depth", whole(3))}});
    all.push_back({Family::resnet, "batch norm", {set("norm", text("batch"))}});
    all.push_back({Family::resnet, "bf16, checkpointing", {bf16, recompute}});
    const Family encoder = Family::encoder;
    all.push_back({encoder, "plain", {}});
    all.push_back({encoder, "micro-batch 6 of 16", {micro(6)}});
    all.push_back({encoder, "length 128", {set("tok.max_length", whole(128))}});
    all.push_back({encoder, "hidden 256, 4 layers", {set("model.hidden", whole(256)), set("model.layers", whole(4))}});
    all.push_back({encoder, "sgd, 1 frozen layer", {set("optim.kind", text("sgd")), set("train.frozen_layers", whole(1))}});
    all.push_back({encoder, "adafactor, clipping", {set("optim.kind", text("adafactor")), set("optim.clip_norm", 1.0)}});
    all.push_back({encoder, "checkpointing", {recompute}});
    all.push_back({encoder, "bf16", {bf16}});
    all.push_back({encoder, "bf16, checkpointing", {bf16, recompute}});
    all.push_back({encoder, "probe", {set("train.tuning", text("probe"))}});
    all.push_back({encoder, "lora", {set("train.tuning", text("lora"))}});
    all.push_back({encoder, "lora query,value", {set("train.tuning", text("lora")), set("lora.targets", text("query,value"))}});
    all.push_back({encoder, "no dropout", {set("train.dropout", 0.0), set("train.attention_dropout", 0.0)}});
    all.push_back({encoder, "evaluation x 16", {set("eval_batch", whole(16)), micro(4)}});
    all.push_back({encoder, "early stopping", {set("train.patience", whole(1))}});
    all.push_back({encoder, "deep head, class weights", {set("head.depth", whole(2)), set("train.class_weights", text("balanced"))}});
    const Family lstm = Family::lstm;
    all.push_back({lstm, "plain", {}});
    all.push_back({lstm, "2 layers, dropout", {set("model.layers", whole(2)), set("model.dropout", 0.2)}});
    all.push_back({lstm, "micro-batch 24 of 64", {micro(24)}});
    all.push_back({lstm, "width 256, length 60", {set("model.width", whole(256)), set("length", whole(60))}});
    all.push_back({lstm, "sgd", {set("optim.kind", text("sgd"))}});
    return all;
}

/// Where a configuration's data lie.
struct Data {
    std::filesystem::path texts;     ///< as write_texts writes them, 200 or more
    std::filesystem::path images{};  ///< folder of the IDX files; empty: Debian's Fashion-MNIST
};

[[nodiscard]] inline hpo::TrainerJob job_of(const Configuration& configuration, const Data& data) {
    hpo::TrainerJob job;
    job.options = {{"epochs", whole(2)}, {"threads", whole(1)}};
    const auto option = [&](const char* name, hpo::Value value) { job.options[name] = std::move(value); };
    job.params = {{"train.batch_size", whole(64)}, {"optim.lr", 1e-3}};
    if (configuration.family == Family::encoder) {
        job.params["train.batch_size"] = whole(16);
        option("data", data.texts.string());
        option("train_examples", whole(70));
        option("validation_examples", whole(40));
        option("test_share", 0.0);
        option("validation_share", 0.3);
        job.params["tok.max_length"] = whole(64);
    } else {
        option("train_examples", whole(300));
        option("validation_examples", whole(100));
        if (configuration.family != Family::lstm && !data.images.empty()) option("data", data.images.string());
        if (configuration.family != Family::lstm) job.params["model.kind"] = text(family_names[static_cast<int>(configuration.family)]);
    }
    for (const Pull& pull : configuration.pulls) pull(job);
    return job;
}

/// What `work` says of a trainer that trains this family.
template <class Work>
[[nodiscard]] auto with_trainer(Family family, const Work& work) {
    if (family == Family::encoder) {
        hpo::text_classifier::TextClassifier trainer;
        return work(trainer);
    }
    if (family == Family::lstm) {
        adding_problem::AddingProblem trainer;
        return work(trainer);
    }
    hpo::image_classifier::ImageClassifier trainer;
    return work(trainer);
}

}  // namespace bench
