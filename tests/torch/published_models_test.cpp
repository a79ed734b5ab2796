// SPDX-License-Identifier: MIT
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "hpo/text/published_encoders.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/tiny_encoders.hpp"
#include "text_classifier/text_classifier.hpp"
#include "torch/meta/device.hpp"

using Catch::Contains;
using hpo::text_classifier::TextClassifier;

namespace {

/// As a study over published models asks for one, where there is neither a model nor data.
hpo::TrainerJob asked(const std::string& model) {
    hpo::TrainerJob job;
    job.params = {{"model.name", model},
                  {"tok.max_length", std::int64_t{128}},
                  {"train.batch_size", std::int64_t{8}},
                  {"train.grad_accum", std::int64_t{1}}};
    job.metric = "macro_f1";
    return job;
}

hpo::PeakPrediction predicted(const hpo::TrainerJob& job) {
    points::Recorder recorder;
    return TextClassifier{}.predict(job, hpo::PeakSource::dry_run, recorder);
}

/// `count` texts of two classes, `words` words each, the last with one less.
std::string write_texts(const std::filesystem::path& file, int count, int words) {
    std::ofstream texts{file};
    texts << "label\ttext\n";
    for (int row = 0; row < count; ++row) {
        texts << (row % 2 == 0 ? "a\t" : "b\t") << row;
        for (int i = row + 1 < count ? 1 : 2; i < words; ++i) texts << " library";
        texts << '\n';
    }
    return file.string();
}

}  // namespace

TEST_CASE("published models have as many parameters as their papers' checkpoints") {
    const hpo::libtorch::MetaDevice device{hpo::libtorch::MetaTarget::cpu};
    const hpo::libtorch::MetaFactories on_meta;
    const auto parameters = [](const std::string& name) {
        std::int64_t count = 0;
        const auto encoder = hpo::libtorch::draw_encoder(hpo::text::published_encoder(name).value(), name);
        for (const auto& parameter : encoder->parameters()) count += parameter.numel();
        return count;
    };
    // Without the pooler, which is hidden x hidden + hidden.
    CHECK(parameters("bert-base-uncased") == 108'891'648);
    CHECK(parameters("bert-large-uncased") == 334'092'288);
    CHECK(parameters("roberta-base") == 124'055'040);
    CHECK(parameters("roberta-large") == 354'310'144);
    CHECK(parameters("xlm-roberta-base") == 277'453'056);
    CHECK(parameters("microsoft/deberta-v3-base") == 183'831'552);
    CHECK(parameters("microsoft/deberta-v3-large") == 434'012'160);
    CHECK(parameters("sentence-transformers/all-MiniLM-L6-v2") == 22'565'376);
    CHECK_FALSE(hpo::text::published_encoder("bert-huge"));
}

TEST_CASE("a published model is found by its name in the folder of models, with and without its organisation") {
    const hpo::tests::TemporaryDirectory home;
    hpo::TrainerJob job = asked("somebody/tiny-bert");
    job.params["tok.max_length"] = std::int64_t{10};
    job.options = {{"data", write_texts(home.path("texts.tsv"), 40, 6)}, {"epochs", std::int64_t{1}}, {"threads", std::int64_t{1}}};
    TextClassifier trainer;
    const auto problem = [&] {
        const auto problems = trainer.check(job);
        return problems.size() == 1 ? problems[0].what : std::to_string(problems.size()) + " problems";
    };
    CHECK_THAT(problem(), Contains("models: got nothing; expected the folder that has somebody/tiny-bert/, a folder with config.json"));
    job.options["models"] = home.file("models");
    CHECK_THAT(problem(), Contains("models/somebody/tiny-bert: no such folder") && Contains("model.safetensors") && Contains("spm.model"));
    job.params["model.name"] = std::string{"roberta-base"};
    CHECK_THAT(problem(),
               Contains("models/roberta-base: no such folder") && Contains("vocab.json and merges.txt") && !Contains("vocab.txt"));

    job.params["model.name"] = std::string{"xlm-roberta-base"};
    CHECK_THAT(problem(), Contains("model.safetensors") && Contains("sentencepiece.bpe.model") && !Contains("vocab"));

    hpo::tests::write_tiny_bert(home.path("models/somebody/tiny-bert"));
    job.params["model.name"] = std::string{"somebody/tiny-bert"};
    CHECK(problem() == "0 problems");
    points::Recorder recorder;
    const auto outcome = trainer.run(job, recorder);
    CHECK(outcome.kind == hpo::OutcomeKind::complete);
    std::filesystem::rename(home.path("models/somebody/tiny-bert"), home.path("models/tiny-bert"));
    CHECK(trainer.run(job, recorder).values == outcome.values);
    job.options["model"] = home.file("models/tiny-bert");
    CHECK_THAT(problem(), Contains("model.name") && Contains("one of the two"));
    job.params.erase("model.name");
    CHECK(trainer.run(job, recorder).values == outcome.values);
}

TEST_CASE("memory is predicted without a model's folder and without data, as for texts of the full length") {
    const hpo::tests::TemporaryDirectory home;
    hpo::TrainerJob job = asked("tiny-bert");
    job.params["tok.max_length"] = std::int64_t{10};
    CHECK_THROWS_WITH(predicted(job), Contains("unknown published model 'tiny-bert'") && Contains("bert-base-uncased"));
    hpo::tests::write_tiny_bert(home.path("tiny-bert"));
    job.options["models"] = home.path().string();
    const auto without_data = predicted(job);
    job.options["data"] = write_texts(home.path("texts.tsv"), 40, 8);
    job.options["validation_share"] = 0.4;
    CHECK(predicted(job).need == without_data.need);
    std::filesystem::remove(home.path("tiny-bert") / "model.safetensors");  // weights are not read
    CHECK(predicted(job).need == without_data.need);

    hpo::TrainerJob scratch = asked("");
    const auto small = predicted(scratch);
    scratch.params["model.vocabulary"] = std::int64_t{16000};
    const std::int64_t row_bytes = 128 * 4;  // of a token's embedding, beside AdamW's two moments
    CHECK(predicted(scratch).need >= small.need + 8000 * 3 * row_bytes);

    auto real = asked("bert-base-uncased");
    real.params["tok.max_length"] = std::int64_t{513};
    CHECK_THROWS_WITH(predicted(real), Contains("tok.max_length: got 513; expected at most 512, the positions of bert-base-uncased"));
    const auto problems = TextClassifier{}.check(asked("bert-base-uncased"));
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].where == "data");
}

TEST_CASE("a large model's accumulated batches need the memory of one of them") {
    const auto need = [](std::int64_t batch, std::int64_t batches, std::optional<std::int64_t> micro) {
        auto job = asked("bert-large-uncased");
        job.params["tok.max_length"] = std::int64_t{480};
        job.params["train.batch_size"] = batch;
        job.params["train.grad_accum"] = batches;
        job.plan.micro_batch = micro;
        return predicted(job).need;
    };
    const std::int64_t gib = std::int64_t{1} << 30U;
    const std::int64_t asked_for = need(48, 4, std::nullopt);
    CHECK(asked_for > 24 * gib);
    CHECK(need(192, 1, 48) == asked_for);
    CHECK(need(192, 1, std::nullopt) > 3 * asked_for);
    CHECK(need(48, 4, 8) == need(8, 24, std::nullopt));
    CHECK(need(48, 4, 4) < 24 * gib);
}
