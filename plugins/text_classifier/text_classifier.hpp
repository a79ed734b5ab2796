// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/dataset/label_balance.hpp"
#include "hpo/dataset/text_dataset.hpp"
#include "hpo/text/model_folder.hpp"
#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/text/word_counts.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "model_source.hpp"
#include "saved_text_model.hpp"
#include "stand_in_texts.hpp"
#include "text_task.hpp"

namespace hpo::text_classifier {

/// Classifies texts with a BERT, RoBERTa or DeBERTa-v3 encoder. It is a published one from its model folder, or an untrained BERT of any
/// size.
class TextClassifier final : public hpo::libtorch::TorchTrainer {
protected:
    [[nodiscard]] hpo::TrainerInfo describe() const override {
        using std::string;
        hpo::TrainerInfo info;
        info.name = "text_classifier";
        info.summary = "texts into classes: BERT, RoBERTa and DeBERTa-v3 encoders, BERT also from scratch; CSV, TSV and JSON lines";
        info.parameters = {
            {"data", "text", "", {}, "a file of labelled texts, or a folder with train.* and possibly validation.* and test.*"},
            {"text_column", "text", "", string{"text"}, "name of the column with the texts"},
            {"label_column", "text", "", string{"label"}, "name of the column with the labels"},
            {"quotes", "bool", "", true, "fields of CSV and TSV files may stand in quotes"},
            {"test_share", "float", "[0, 1)", 0.1, "share of the texts kept for the test where no file has them"},
            {"validation_share", "float", "[0, 1]", 0.1,
             "share of the texts held out for the metrics where no file has them; 1 measures a saved model on all"},
            {"split_seed", "int", "[0, inf)", std::int64_t{0}, "of the rule that divides texts and chooses some of them"},
            {"train_examples", "int", "[0, inf)", std::int64_t{0}, "texts trained on; 0: all"},
            {"validation_examples", "int", "[0, inf)", std::int64_t{0}, "held-out texts that the metrics are measured on; 0: all"},
            {"model", "text", "", string{},
             "folder of a published model; without it and model.name: an encoder from scratch, of the sizes below"},
            {"model.name", "text", "", string{}, "a published model by its name, such as roberta-base; its folder is MODELS/NAME"},
            {"models", "text", "", string{}, "the folder with the folders of published models"},
            {"model.layers", "int", "[1, 128]", std::int64_t{2}, "layers of an encoder from scratch"},
            {"model.hidden", "int", "[1, 65536]", std::int64_t{128}, "its numbers for each token; a multiple of model.heads"},
            {"model.heads", "int", "[1, 1024]", std::int64_t{2}, "its attention heads"},
            {"model.intermediate", "int", "[1, 262144]", std::int64_t{512}, "units inside its feed-forward layers"},
            {"model.vocabulary", "int", "[8, 1000000]", std::int64_t{8000}, "most tokens of its vocabulary, which the training texts give"},
            {"tok.max_length", "int", "[2, 65536]", std::int64_t{128},
             "most tokens of a text, those around it included; the rest is cut off"},
            {"length_buckets", "int", "[1, 1000000]", std::int64_t{16}, "steps whose examples are sorted by length together"},
            {"head.pooling", "one of first, mean", "", string{"mean"}, "the text's vector: the first token's, or the mean of all"},
            {"head.depth", "int", "[0, 16]", std::int64_t{0}, "hidden layers of the classification head"},
            {"head.width", "int", "[1, 65536]", std::int64_t{256}, "units of each"},
            {"train.dropout", "float", "[0, 1)", 0.1, "share of units dropped, in encoder and head", hpo::MemoryUse::whether_zero},
            {"train.attention_dropout", "float", "[0, 1)", 0.1, "share of attention dropped", hpo::MemoryUse::whether_zero},
        };
        for (hpo::TrainerParameter& each : hpo::libtorch::classification_parameters("texts")) info.parameters.push_back(std::move(each));
        info.metrics = hpo::libtorch::classification_metrics("texts");
        info.levers = {"activation_checkpointing"};
        info.length_parameter = "tok.max_length";
        return info;
    }

    [[nodiscard]] std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob& job) override {
        const ModelSource source = model_source(settings, job);
        const bool has_data = settings.given("data") && !source.published;
        const auto texts = has_data ? prepare(settings, {.model = source.folder, .saved = source.saved})
                                    : stand_in_texts(static_cast<std::size_t>(settings.whole("tok.max_length")),
                                                     hpo::libtorch::training_plan(settings, job));
        const double dropout = settings.number("train.dropout");
        return std::make_unique<TextTask>(texts,
                                          TextTask::Options{
                                              .encoder = encoder_config(settings, *texts, source),
                                              .model = job.shapes_only ? std::string{} : source.folder,
                                              .head = {.pooling = settings.text("head.pooling") == "first" ? Pooling::first : Pooling::mean,
                                                       .depth = settings.whole("head.depth"),
                                                       .width = settings.whole("head.width"),
                                                       .dropout = dropout,
                                                       .classes = texts->labels.size()},
                                              .loss = hpo::libtorch::classification_loss(settings, [&] { return texts->class_counts; }),
                                              .bucket_steps = settings.whole("length_buckets"),
                                              .recompute = job.plan.activation_checkpointing,
                                              .report_test = settings.truth("report_test") && texts->test.size() > 0,
                                          });
    }

private:
    /// Sizes and ids of the encoder. Dropout is a parameter here, and overrides the model folder's.
    static hpo::text::EncoderConfig encoder_config(const hpo::Settings& settings, const PreparedTexts& texts, const ModelSource& source) {
        hpo::text::EncoderConfig config;
        if (source.published || !source.folder.empty()) {
            config = source.published ? *source.published : hpo::text::read_encoder_config(source.folder);
            if (settings.whole("tok.max_length") > config.longest()) {
                throw hpo::bad_value("tok.max_length", std::to_string(settings.whole("tok.max_length")),
                                     "at most " + std::to_string(config.longest()) + ", the positions of " +
                                         (source.published ? settings.text("model.name") : source.folder));
            }
        } else {
            config = {.vocabulary =
                          settings.given("data") ? static_cast<std::int64_t>(texts.tokenizer.size()) : settings.whole("model.vocabulary"),
                      .hidden = settings.whole("model.hidden"),
                      .layers = settings.whole("model.layers"),
                      .heads = settings.whole("model.heads"),
                      .intermediate = settings.whole("model.intermediate"),
                      .positions = settings.whole("tok.max_length"),
                      .pad = texts.tokenizer.special().pad};
        }
        config.hidden_dropout = settings.number("train.dropout");
        config.attention_dropout = settings.number("train.attention_dropout");
        return config;
    }

    /// What defines the tokens and classes of a text.
    struct Reading {
        std::string model;   ///< the model's folder; if empty, the training texts define them
        bool saved = false;  ///< the model has classes of its own

        bool operator==(const Reading&) const = default;
    };
    /// Which data set is read, and how it is split.
    struct SetKey {
        std::string classes_of;  ///< the folder of a saved model; if empty, the classes of the training texts
        std::string data;
        std::string text_column;
        std::string label_column;
        bool quotes = true;
        double test_share = 0;
        double validation_share = 0;
        std::int64_t seed = 0;

        bool operator==(const SetKey&) const = default;
    };
    /// Which of its texts are encoded, and how.
    struct TextsKey {
        Reading reading;
        std::int64_t vocabulary = 0;
        std::int64_t max_length = 0;
        std::int64_t train = 0;
        std::int64_t validation = 0;
        bool test = false;

        bool operator==(const TextsKey&) const = default;
    };

    /// The data set. It is read and encoded once for all attempts of this worker that use it in the same way.
    std::shared_ptr<const PreparedTexts> prepare(const hpo::Settings& settings, const Reading& reading) {
        const SetKey set_key{.classes_of = reading.saved ? reading.model : std::string{},
                             .data = settings.text("data"),
                             .text_column = settings.text("text_column"),
                             .label_column = settings.text("label_column"),
                             .quotes = settings.truth("quotes"),
                             .test_share = settings.number("test_share"),
                             .validation_share = settings.number("validation_share"),
                             .seed = settings.whole("split_seed")};
        if (!set_ || !(set_key_ == set_key)) {
            texts_ = nullptr;
            set_ = std::make_shared<const hpo::dataset::TextDataset>(hpo::dataset::read_dataset(
                {.data = set_key.data,
                 .columns = {.text = set_key.text_column, .label = set_key.label_column, .quotes = set_key.quotes},
                 .split = {.test = set_key.test_share,
                           .validation = set_key.validation_share,
                           .seed = static_cast<std::uint64_t>(set_key.seed)},
                 .model_labels = reading.saved ? std::optional{read_labels(reading.model)} : std::nullopt}));
            set_key_ = set_key;
        }
        const TextsKey texts_key{.reading = reading,
                                 .vocabulary = settings.whole("model.vocabulary"),
                                 .max_length = settings.whole("tok.max_length"),
                                 .train = settings.whole("train_examples"),
                                 .validation = settings.whole("validation_examples"),
                                 .test = settings.truth("report_test")};
        if (!texts_ || !(texts_key_ == texts_key)) {
            texts_ = prepare(*set_, settings, reading);
            texts_key_ = texts_key;
        }
        return texts_;
    }

    static std::shared_ptr<const PreparedTexts> prepare(const hpo::dataset::TextDataset& set, const hpo::Settings& settings,
                                                        const Reading& reading) {
        using hpo::dataset::Examples;
        const hpo::dataset::LabelTable& labels = set.labels;
        // A saved model needs no training texts. If there are fewer texts than asked for, all are used.
        const auto rule = [&](const Examples& part, std::string_view limit) {
            const std::int64_t asked = settings.whole(std::string{limit});
            return hpo::dataset::SubsetRule{.examples = reading.saved ? std::min(asked, part.size()) : asked,
                                            .seed = static_cast<std::uint64_t>(settings.whole("split_seed")),
                                            .name = limit};
        };
        const hpo::dataset::SubsetRule train_rule = rule(set.train, "train_examples");
        const Examples train = reading.saved ? set.train.chosen(train_rule) : set.train.chosen(train_rule, labels);
        const Examples validation = set.validation.chosen(rule(set.validation, "validation_examples"), labels);
        if (validation.empty()) throw hpo::bad_value("validation_share", "no held-out texts", "some, for the metrics");
        if (settings.truth("report_test") && set.test.empty() && !reading.saved)
            throw hpo::bad_value("report_test", "no test texts", "some");
        const auto max_length = static_cast<std::size_t>(settings.whole("tok.max_length"));
        const hpo::text::Tokenizer tokenizer = make_tokenizer(train, settings, reading.model);
        PreparedTexts texts{
            .tokenizer = tokenizer,
            .labels = labels,
            .train = reading.saved ? EncodedTexts{} : encode(train, tokenizer, max_length),
            .validation = encode(validation, tokenizer, max_length),
            .test = settings.truth("report_test") ? encode(set.test.chosen({}, labels), tokenizer, max_length) : EncodedTexts{},
            .class_counts = hpo::dataset::label_balance(train.labels(), labels.size()).counts,
            .remarks = reading.saved ? std::vector<std::string>{} : remarks_on(set, train, validation),
            .hash = content_hash(hpo::dataset::TextDataset{.labels = labels, .train = train, .validation = validation, .test = {}})};
        return std::make_shared<const PreparedTexts>(std::move(texts));
    }

    /// What a person should know about the texts, one line each.
    static std::vector<std::string> remarks_on(const hpo::dataset::TextDataset& set, const hpo::dataset::Examples& train,
                                               const hpo::dataset::Examples& validation) {
        const auto balance = [&](const hpo::dataset::Examples& part) {
            return balance_text(hpo::dataset::label_balance(part.labels(), set.labels.size()), set.labels);
        };
        std::vector<std::string> remarks{"training: " + balance(train), "held out: " + balance(validation)};
        const auto tell_common = [&](const hpo::dataset::Examples& part, const std::string& which) {
            if (const std::int64_t common = texts_in_common(train, part); common > 0)
                remarks.push_back(std::to_string(common) + " " + which + " texts are trained on, too");
        };
        tell_common(validation, "held-out");
        tell_common(set.test, "test");
        for (const std::string& name : set.passed_over)
            remarks.push_back(hpo::shown(name) + ": not read; parts are called train, validation (valid, val, dev) and test");
        return remarks;
    }

    static hpo::text::Tokenizer make_tokenizer(const hpo::dataset::Examples& train, const hpo::Settings& settings,
                                               const std::string& folder) {
        if (!folder.empty()) return hpo::text::read_tokenizer(folder);
        hpo::text::WordCounts words;
        for (std::int64_t i = 0; i < train.size(); ++i) words.add(train.text(i));
        return words.tokenizer(static_cast<std::size_t>(settings.whole("model.vocabulary")));
    }

    std::shared_ptr<const hpo::dataset::TextDataset> set_;
    SetKey set_key_;
    std::shared_ptr<const PreparedTexts> texts_;
    TextsKey texts_key_;
};

}  // namespace hpo::text_classifier
