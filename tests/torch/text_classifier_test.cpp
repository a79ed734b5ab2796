// SPDX-License-Identifier: MIT
#include "text_classifier/text_classifier.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/testing/saving_contract.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "hpo/torch/training/step.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/tiny_encoders.hpp"
#include "torch/training/epoch_order.hpp"

using namespace hpo::text_classifier;
using hpo::libtorch::MeteredAllocator;
using points::Recorder;
using torch::Tensor;

namespace {

/// 240 texts of 1 to 12 words; one of the words tells the class, and half of the texts are of the first.
std::string write_texts(const std::filesystem::path& folder) {
    const std::vector<std::string> fillers{"a", "the", "for", "with", "tool", "small", "data", "reads"};
    const std::vector<std::string> keys{"library", "game", "font"};
    hpo::Rng rng{4};
    std::ofstream file{folder / "texts.tsv"};
    file << "section\ttext\n";
    for (int row = 0; row < 240; ++row) {
        const std::size_t kind = row % 4 < 2 ? 0 : row % 4 - 1U;
        const auto words = rng.below(12);
        const auto place = rng.below(words + 1);
        file << keys[kind] << "s\t";
        for (std::uint64_t i = 0; i <= words; ++i) file << (i == place ? keys[kind] : fillers[rng.below(fillers.size())]) << ' ';
        file << "v" << row << '\n';
    }
    return (folder / "texts.tsv").string();
}

struct Texts {
    hpo::tests::TemporaryDirectory folder;
    std::string file = write_texts(folder.path());
};

hpo::TrainerJob small_job(const Texts& texts) {
    hpo::TrainerJob job;
    job.params = {{"model.layers", std::int64_t{1}},        {"model.hidden", std::int64_t{16}},
                  {"model.heads", std::int64_t{2}},         {"optim.lr", 0.02},
                  {"model.intermediate", std::int64_t{32}}, {"head.depth", std::int64_t{1}},
                  {"head.width", std::int64_t{16}},         {"train.batch_size", std::int64_t{24}},
                  {"train.label_smoothing", 0.05},          {"train.class_weights", std::string{"balanced"}}};
    job.options = {{"data", texts.file},
                   {"label_column", std::string{"section"}},
                   {"validation_share", 0.3},
                   {"epochs", std::int64_t{4}},
                   {"length_buckets", std::int64_t{2}},
                   {"eval_batch", std::int64_t{3}},
                   {"report_test", true},
                   {"threads", std::int64_t{1}}};
    job.metric = "macro_f1";
    job.plan.micro_batch = 8;
    job.seed = 5;
    return job;
}

hpo::AttemptOutcome complete(TextClassifier& trainer, const hpo::TrainerJob& job) {
    Recorder recorder;
    hpo::AttemptOutcome outcome = trainer.run(job, recorder);
    if (outcome.failure) FAIL(outcome.failure->where + ": " + outcome.failure->message);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome;
}

/// The same for a published model's folder.
hpo::TrainerJob folder_job(const Texts& texts, const hpo::tests::TemporaryDirectory& model, std::int64_t epochs) {
    hpo::TrainerJob job = small_job(texts);
    job.options["model"] = model.path().string();
    job.options["tok.max_length"] = std::int64_t{10};
    job.options["epochs"] = epochs;
    return job;
}

/// Three classes of texts of unequal length, for a tiny encoder.
std::shared_ptr<const PreparedTexts> unequal_texts() {
    hpo::text::WordCounts words;
    words.add("one two three four five six");
    PreparedTexts texts{.tokenizer = words.tokenizer(40), .labels = {{"a", "b", "c"}, "test"}};
    hpo::Rng rng{9};
    for (std::size_t i = 0; i < 23; ++i) {
        std::vector<hpo::text::TokenId> ids{2};
        for (auto more = rng.below(9); more > 0; --more) ids.push_back(static_cast<hpo::text::TokenId>(5 + rng.below(30)));
        ids.push_back(3);
        texts.train.ids.push_back(ids);
        texts.train.labels.push_back(static_cast<std::int64_t>(rng.below(3)));
    }
    return std::make_shared<const PreparedTexts>(std::move(texts));
}

struct StepSettings {
    std::int64_t micro_batch = 23;
    double dropout = 0;
    bool recompute = false;
};

/// The gradients of one step over 23 texts, in one row.
Tensor gradients(const StepSettings& step) {
    const auto texts = unequal_texts();
    TextTask task{texts,
                  {.encoder = {.vocabulary = 40,
                               .hidden = 16,
                               .layers = 2,
                               .heads = 2,
                               .intermediate = 32,
                               .positions = 16,
                               .hidden_dropout = step.dropout,
                               .attention_dropout = step.dropout,
                               .initial_deviation = 0.3},
                   .head = {.depth = 1, .width = 8, .dropout = step.dropout, .classes = 3},
                   .loss = {.label_smoothing = 0.1, .class_weights = torch::tensor({0.2F, 1.F, 3.F})},
                   .recompute = step.recompute}};
    torch::manual_seed(3);
    const auto model = task.build();
    model->train();
    std::vector<std::int64_t> examples(static_cast<std::size_t>(texts->train.size()));
    std::iota(examples.begin(), examples.end(), std::int64_t{0});
    Recorder recorder;
    const hpo::libtorch::AttemptSettings settings;
    hpo::libtorch::RunningAttempt attempt{settings, recorder};
    const auto count = static_cast<std::int64_t>(examples.size());
    hpo::libtorch::BatchLoader loader{
        task, {.order = examples, .effective_batch = count, .micro_batch = step.micro_batch}, attempt.device()};
    hpo::libtorch::Optimizer optimizer{{}, hpo::libtorch::parameter_groups(*model, {}, 1)};
    hpo::libtorch::LossScale loss_scale;
    hpo::libtorch::TrainingStep passes{{.task = task,
                                        .model = *model,
                                        .loader = loader,
                                        .optimizer = optimizer,
                                        .loss_scale = loss_scale,
                                        .attempt = attempt,
                                        .examples = count}};
    hpo::libtorch::accumulate_gradients(task, passes);
    std::vector<Tensor> flat;
    for (const auto& parameter : model->parameters()) flat.push_back(parameter.grad().flatten());
    return torch::cat(flat);
}

}  // namespace

TEST_CASE("an encoder from scratch learns what a word tells, and keeps its scores") {
    const Texts texts;
    TextClassifier trainer;
    const auto outcome = complete(trainer, small_job(texts));
    CHECK(outcome.values.at(0) > 0.9);
    CHECK(std::stod(outcome.attributes.at("test_accuracy")) > 0.85);
    CHECK(std::stoll(outcome.attributes.at("test_examples")) > 10);
    CHECK(outcome.attributes.at("data_hash").size() == 66);  // 64 digits in quotes
    CHECK_FALSE(outcome.approximate);
    CHECK(complete(trainer, small_job(texts)).values == outcome.values);
}

TEST_CASE("gradients of texts of unequal length, with class weights and label smoothing, are those of one large batch") {
    const Tensor whole = gradients({.micro_batch = 23});
    CHECK(whole.norm().item<double>() > 0.01);
    for (const std::int64_t micro : {1, 4, 7, 22}) {
        CAPTURE(micro);
        CHECK((gradients({.micro_batch = micro}) - whole).norm().item<double>() < 1e-5 * whole.norm().item<double>());
    }
}

TEST_CASE("a step with dropout gives the same gradients to the last bit when it is repeated, also with recomputed activations") {
    const StepSettings step{.micro_batch = 6, .dropout = 0.3};
    const Tensor first = gradients(step);
    CHECK(gradients(step).equal(first));
    CHECK_FALSE(gradients({.micro_batch = 6}).equal(first));
    CHECK(gradients({.micro_batch = 6, .dropout = 0.3, .recompute = true}).equal(first));
}

TEST_CASE("a classifier's loss weighs an example by its class and spreads a share of its label") {
    const Tensor logits = torch::tensor({{1.F, -2.F, 0.5F}, {0.F, 3.F, -1.F}});
    const std::vector<double> weights{0.5, 2, 1};
    const std::vector<std::int64_t> labels{2, 1};
    const Tensor surprise = -logits.to(torch::kDouble).log_softmax(1);
    double sum = 0;
    for (std::int64_t row = 0; row < 2; ++row) {
        for (std::int64_t kind = 0; kind < 3; ++kind) {
            const double share = (kind == labels[static_cast<std::size_t>(row)] ? 0.7 : 0) + 0.3 / 3;
            sum += share * weights[static_cast<std::size_t>(kind)] * surprise[row][kind].item<double>();
        }
    }
    const hpo::libtorch::ClassificationLoss loss{.label_smoothing = 0.3, .class_weights = torch::tensor(weights)};
    CHECK(loss.sum(logits, torch::tensor(labels, torch::kLong)).item<double>() == Approx(sum).epsilon(1e-5));
}

TEST_CASE("recomputed activations give the same result with less memory") {
    const Texts texts;
    TextClassifier trainer;
    auto job = small_job(texts);
    job.params["model.layers"] = std::int64_t{6};
    job.params["head.pooling"] = std::string{"first"};
    job.options["epochs"] = std::int64_t{1};
    const auto kept = complete(trainer, job);
    job.plan.activation_checkpointing = true;
    const auto recomputed = complete(trainer, job);
    CHECK(recomputed.values == kept.values);
    CHECK(*recomputed.peak_allocated < *kept.peak_allocated);
}

TEST_CASE("after an out-of-memory in any phase nothing is held, and the next attempt gives what an undisturbed one gives") {
    const Texts texts;
    TextClassifier trainer;
    auto job = small_job(texts);
    job.options["epochs"] = std::int64_t{1};
    job.options["train_examples"] = std::int64_t{30};
    auto& meter = MeteredAllocator::instance();
    const auto undisturbed = complete(trainer, job);
    const std::int64_t held = meter.allocated_bytes();
    const std::int64_t before = meter.allocations();
    static_cast<void>(complete(trainer, job));
    const std::int64_t points = meter.allocations() - before;
    for (std::int64_t point = 1; point <= points; point += points / 25) {
        CAPTURE(point, points);
        Recorder recorder;
        meter.refuse_nth(point);
        const auto outcome = trainer.run(job, recorder);
        meter.refuse_nth(0);
        REQUIRE(outcome.failure);
        CHECK(outcome.failure->kind == hpo::FailureKind::out_of_memory);
        CHECK(meter.allocated_bytes() == held);
    }
    const auto again = complete(trainer, job);
    CHECK(again.values == undisturbed.values);
    CHECK(again.attributes == undisturbed.attributes);
}

TEST_CASE("texts that are sorted by length within some steps keep every example and the short last step, and pad less") {
    const std::vector<std::int64_t> lengths = [] {
        hpo::Rng rng{1};
        std::vector<std::int64_t> drawn(103);
        for (auto& length : drawn) length = 2 + static_cast<std::int64_t>(rng.below(100));
        return drawn;
    }();
    const auto length_of = [&](std::int64_t example) { return lengths[static_cast<std::size_t>(example)]; };
    const auto padded_tokens = [&](const std::vector<std::int64_t>& order, std::size_t batch) {
        std::int64_t sum = 0;
        for (std::size_t begin = 0; begin < order.size(); begin += batch) {
            std::int64_t longest = 0;
            const std::size_t end = std::min(order.size(), begin + batch);
            for (std::size_t i = begin; i < end; ++i) longest = std::max(longest, length_of(order[i]));
            sum += longest * static_cast<std::int64_t>(end - begin);
        }
        return sum;
    };
    const std::vector<std::int64_t> shuffled = hpo::libtorch::shuffled(103, hpo::Seed{2});
    const auto bucketed = [&](std::int64_t steps, std::uint64_t seed) {
        std::vector<std::int64_t> order = shuffled;
        hpo::libtorch::bucket_by_length(order, {.effective_batch = 10, .seed = hpo::Seed{seed}}, steps, length_of);
        return order;
    };
    for (const std::int64_t steps : {1, 4, 1000}) {
        CAPTURE(steps);
        std::vector<std::int64_t> order = bucketed(steps, 7);
        CHECK(order == bucketed(steps, 7));
        CHECK(std::is_permutation(order.begin(), order.end(), shuffled.begin()));
        CHECK(padded_tokens(order, 5) < padded_tokens(shuffled, 5));
        for (std::size_t step = 0; step < 11; ++step) {
            const auto begin = order.begin() + static_cast<std::ptrdiff_t>(10 * step);
            const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(103, 10 * step + 10));
            CHECK(std::is_sorted(begin, end, [&](auto a, auto b) { return length_of(a) > length_of(b); }));
            if (steps == 1) CHECK(std::is_permutation(begin, end, shuffled.begin() + (begin - order.begin())));
        }
    }
    CHECK(bucketed(4, 7) != bucketed(4, 8));
    CHECK(padded_tokens(bucketed(4, 7), 10) < padded_tokens(bucketed(1, 7), 10));
}

TEST_CASE("a check tells the balance of the labels, and what is wrong with data or model") {
    const Texts texts;
    TextClassifier trainer;
    const auto job = small_job(texts);
    Recorder recorder;
    CHECK(trainer.stoppable_check(job, recorder).empty());
    REQUIRE(recorder.lines.size() == 7);  // and five lines on what was looked at
    CHECK(recorder.lines[0].starts_with("training: "));
    CHECK(recorder.lines[0].find("texts of 3 classes; most 'librarys'") != std::string::npos);

    const auto problem = [&](const std::string& name, const hpo::Value& value) {
        auto changed = job;
        changed.options[name] = value;
        const auto problems = trainer.check(changed);
        return problems.size() == 1 ? problems[0].what : std::string{std::to_string(problems.size()) + " problems"};
    };
    CHECK(problem("label_column", std::string{"label"}) == texts.file + ":1: unknown column 'label'; known: section, text");
    CHECK(problem("data", std::string{"/nowhere.tsv"}).starts_with("/nowhere.tsv: "));
    CHECK(problem("test_share", 0.8) ==
          "shares of test and validation texts: got 0.8 and 0.3; expected shares from 0 that are together less than 1");

    auto changed = job;
    changed.params["model.heads"] = std::int64_t{3};
    const auto problems = trainer.check(changed);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what ==
          "model: num_attention_heads: got 3; expected a divisor of hidden_size, which is 16; configuration: head.depth = 1, "
          "head.width = 16, model.heads = 3, model.hidden = 16, model.intermediate = 32, model.layers = 1, optim.lr = 0.02, "
          "train.batch_size = 24, train.class_weights = balanced, train.label_smoothing = 0.05");
}

TEST_CASE("a check tells of held-out and of test texts that are trained on, too") {
    const hpo::tests::TemporaryDirectory folder;
    const auto write = [&](const char* name, const std::string& rows) { std::ofstream{folder.path(name)} << "section\ttext\n" << rows; };
    write("train.tsv", "games\tgame\nfonts\tfont\nfonts\tanother font\n");
    write("validation.tsv", "games\tgame\nfonts\tunheard\n");
    write("test.tsv", "games\tgame\nfonts\tfont\nfonts\tnever heard\n");
    const Texts texts;
    hpo::TrainerJob job = small_job(texts);
    job.options["data"] = folder.path().string();
    Recorder recorder;
    CHECK(TextClassifier{}.stoppable_check(job, recorder).empty());
    REQUIRE(recorder.lines.size() == 9);  // and five lines on what was looked at
    CHECK(recorder.lines[2] == "1 held-out texts are trained on, too");
    CHECK(recorder.lines[3] == "2 test texts are trained on, too");
}

TEST_CASE("a published model's folder gives tokenizer, sizes and weights") {
    const Texts texts;
    const hpo::tests::TemporaryDirectory model;
    hpo::tests::write_tiny_bert(model.path());
    TextClassifier trainer;
    auto job = folder_job(texts, model, 20);
    job.params["optim.lr"] = 0.01;
    job.params["train.dropout"] = 0.0;
    job.params["train.attention_dropout"] = 0.0;
    CHECK(complete(trainer, job).values.at(0) > 0.6);

    job.options["tok.max_length"] = std::int64_t{11};
    const auto problems = trainer.check(job);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "tok.max_length: got 11; expected at most 10, the positions of " + model.path().string());
}

TEST_CASE("bad data and bad models fail a check and an attempt with file and field, and the trainer goes on") {
    namespace fs = std::filesystem;
    const auto lay_out = [](const fs::path& folder) {
        for (const char* name : {"data", "model"}) fs::create_directory(folder / name);
        std::ofstream{folder / "data/train.tsv"} << "section\ttext\ngames\ta game\nfonts\tthe font\ngames\tfor a game\n";
        std::ofstream{folder / "data/validation.tsv"} << "section\ttext\ngames\tgame\nfonts\tfont\n";
        std::ofstream{folder / "data/test.tsv"} << "section\ttext\nfonts\tfont font\n";
        hpo::tests::write_tiny_bert(folder / "model");
    };
    const auto replace = [](const std::string& name, const std::string& content) {
        return [=](const fs::path& folder) { std::ofstream{folder / name, std::ios::binary} << content; };
    };
    const auto configure = [](const std::string& key, const nlohmann::json& value) {
        return [=](const fs::path& folder) {
            auto config = nlohmann::json::parse(std::ifstream{folder / "model/config.json"});
            config[key] = value;
            std::ofstream{folder / "model/config.json"} << config;
        };
    };
    struct Case {
        std::function<void(const fs::path&)> spoil;
        std::string says;  ///< after the folder
    };
    const std::vector<Case> cases{
        {replace("data/test.tsv", "section\ttext\nfruits\tapple\n"),
         "data/test.tsv: labels that no training text has: 'fruits' (line 2); known: fonts, games"},
        {replace("data/train.tsv", "section\ttext\ngames\tgame\n\tfont\n"), "data/train.tsv:3, field 1 (section): no label"},
        {replace("data/train.tsv", "section\ttext\ngames\tgame\n"), "data/train.tsv: got the one label 'games'"},
        {replace("data/validation.tsv", "sectoin\ttext\ngames\tgame\n"),
         "data/validation.tsv:1: unknown column 'section'; did you mean 'sectoin'?"},
        {replace("data/validation.tsv", "section\ttext\ngames\tga\xffme\n"), "data/validation.tsv:2: invalid UTF-8 at byte 21 of the file"},
        {replace("data/train.tsv", ""), "data/train.tsv: empty"},
        {replace("data/test.tsv", "section\ttext\n"), "data/test.tsv: no rows"},
        {[](const fs::path& folder) { fs::remove(folder / "data/train.tsv"); }, "data: no training texts"},
        {[](const fs::path& folder) { fs::remove(folder / "model/config.json"); }, "model/config.json: no such file"},
        {[](const fs::path& folder) { fs::remove(folder / "model/vocab.txt"); }, "model: no tokenizer"},
        {[](const fs::path& folder) { fs::remove(folder / "model/model.safetensors"); }, "model: no weights"},
        {configure("hidden_size", "eight"), "model/config.json: hidden_size: got \"eight\"; expected a whole number"},
        {configure("vocab_size", 12), "model/config.json: vocab_size: got 12; expected at least the tokenizer's 19 tokens"},
        {configure("vocab_size", 20), "model/model.safetensors: tensor 'embeddings.word_embeddings.weight': got shape [19, 8]"},
        {configure("max_position_embeddings", 8),
         "model/model.safetensors: tensor 'embeddings.position_embeddings.weight': got shape [10, 8]"},
        {configure("num_hidden_layers", 3), "model/model.safetensors: lacks tensor 'encoder.layer.2.attention.self.query.weight'"},
        {replace("model/vocab.txt", "[PAD]\n[UNK]\n[CLS]\nlibrary\n"), "model/vocab.txt: lacks the sep_token '[SEP]'"},
        {replace("model/vocab.txt", "[PAD]\n\xff\n"), "model/vocab.txt:2: not UTF-8"},
        {replace("model/model.safetensors", std::string{"\0\0\0\0\0\0\0\x10{}", 10}),
         "model/model.safetensors: a header of 1152921504606846976 bytes"},
        {replace("model/model.safetensors", "12345"), "model/model.safetensors: cut short: 5 bytes"},
        {[](const fs::path& folder) { fs::resize_file(folder / "model/model.safetensors", 9000); }, "model/model.safetensors: tensor '"},
    };
    const Texts texts;
    TextClassifier trainer;
    auto& meter = MeteredAllocator::instance();
    auto job = small_job(texts);
    job.options["tok.max_length"] = std::int64_t{8};
    job.options["epochs"] = std::int64_t{1};
    job.options["report_test"] = true;
    const auto of = [&](const fs::path& folder) {
        job.options["data"] = (folder / "data").string();
        job.options["model"] = (folder / "model").string();
        return job;
    };
    const hpo::tests::TemporaryDirectory good;
    lay_out(good.path());
    const auto before = complete(trainer, of(good.path()));
    const std::int64_t held = meter.allocated_bytes();
    for (const Case& each : cases) {
        CAPTURE(each.says);
        const hpo::tests::TemporaryDirectory work;
        lay_out(work.path());
        each.spoil(work.path());
        const auto problems = trainer.check(of(work.path()));
        REQUIRE(problems.size() == 1);
        CHECK_THAT(problems[0].what, Catch::StartsWith(work.file("") + each.says));
        Recorder recorder;
        const auto outcome = trainer.run(of(work.path()), recorder);
        REQUIRE(outcome.failure);
        CHECK(outcome.failure->kind == hpo::FailureKind::trainer_error);
        CHECK(outcome.failure->message == problems[0].what);
        CHECK(meter.allocated_bytes() == held);
    }
    CHECK(complete(trainer, of(good.path())).values == before.values);
}

TEST_CASE("an encoder is tuned whole, by additions of low rank, or by its head alone, each with fewer numbers that learn and less memory") {
    const Texts texts;
    TextClassifier trainer;
    auto job = small_job(texts);
    job.params["model.layers"] = std::int64_t{4};
    job.options["epochs"] = std::int64_t{1};
    struct Cost {
        std::int64_t learning = 0;
        std::int64_t peak = 0;
    };
    const auto cost = [&](const std::string& tuning) {
        CAPTURE(tuning);
        job.params["train.tuning"] = tuning;
        const auto profile = trainer.profile(job);
        REQUIRE(profile);
        return Cost{profile->trainable_parameters, *complete(trainer, job).peak_allocated};
    };
    job.params["lora.rank"] = std::int64_t{2};
    job.params["lora.targets"] = std::string{"query,value"};
    const Cost full = cost("full");
    const Cost lora = cost("lora");
    const Cost probe = cost("probe");
    const std::int64_t head = 16 * 16 + 16 + 16 * 3 + 3;
    CHECK(probe.learning == head);
    CHECK(lora.learning == head + 4 * 2 * 2 * (16 + 16));
    CHECK(full.learning > 4 * (4 * 16 * 16 + 2 * 16 * 32));
    CHECK(lora.peak < full.peak);
    CHECK(probe.peak < lora.peak);

    job.plan.activation_checkpointing = true;
    const auto recomputed = [&](const std::string& tuning) {
        job.params["train.tuning"] = tuning;
        const auto values = complete(trainer, job).values;
        job.plan.activation_checkpointing = !job.plan.activation_checkpointing;
        CHECK(complete(trainer, job).values == values);
        job.plan.activation_checkpointing = true;
    };
    recomputed("lora");
    recomputed("probe");

    job.params["train.tuning"] = std::string{"full"};
    job.params["train.frozen_layers"] = std::int64_t{5};
    const auto problems = trainer.check(job);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0].what, Catch::StartsWith("train.frozen_layers: got 5; expected at most 4"));
}

TEST_CASE("every kind of layer of an encoder can be adapted") {
    const Texts texts;
    TextClassifier trainer;
    auto job = small_job(texts);
    job.options["epochs"] = std::int64_t{1};
    job.params["train.tuning"] = std::string{"lora"};
    job.params["lora.targets"] = std::string{"query, key, value, dense"};
    const auto profile = trainer.profile(job);
    REQUIRE(profile);
    CHECK(profile->trainable_parameters == 16 * 16 + 16 + 16 * 3 + 3 + 8 * (4 * (16 + 16) + 2 * (16 + 32)));
    CHECK(complete(trainer, job).values.size() == 1);
}

TEST_CASE("layer-wise decay reaches every part of an encoder, the lower the less it learns") {
    TextTask task{unequal_texts(),
                  {.encoder = {.vocabulary = 40, .hidden = 16, .layers = 2, .heads = 2, .intermediate = 32, .positions = 16},
                   .head = {.depth = 1, .width = 8, .dropout = 0, .classes = 3}}};
    const auto model = task.build();
    const auto groups = hpo::libtorch::parameter_groups(*model, task.layers(), 0.5);
    REQUIRE(groups.size() == 4);  // embeddings, two layers, head
    std::map<const void*, double> factors;
    for (const auto& group : groups) {
        for (const Tensor& parameter : group.parameters) factors[parameter.unsafeGetTensorImpl()] = group.rate_factor;
    }
    for (const auto& parameter : model->named_parameters()) {
        CAPTURE(parameter.key());
        const auto named = [&](const char* part) { return parameter.key().find(part) != std::string::npos; };
        const double expected = named("embeddings") ? 0.125 : named("layer.0.") ? 0.25 : named("layer.1.") ? 0.5 : 1;
        CHECK(factors.at(parameter.value().unsafeGetTensorImpl()) == expected);
    }
}

TEST_CASE("every lever of a text model's training changes what comes out, and nothing else does") {
    const Texts texts;
    TextClassifier trainer;
    auto job = small_job(texts);
    job.options["epochs"] = std::int64_t{2};
    const auto loss = [&](const char* name, const hpo::Value& value) {
        auto changed = job;
        changed.params.erase(name);
        changed.options[name] = value;
        return complete(trainer, changed).attributes.at("loss");
    };
    const std::string plain = complete(trainer, job).attributes.at("loss");
    const auto word = [](const char* text) { return hpo::Value{std::string{text}}; };
    const std::vector<std::pair<const char*, hpo::Value>> levers{{"train.label_smoothing", 0.3},
                                                                 {"train.class_weights", word("none")},
                                                                 {"length_buckets", std::int64_t{1}},
                                                                 {"train.dropout", 0.4},
                                                                 {"train.attention_dropout", 0.4},
                                                                 {"head.pooling", word("first")},
                                                                 {"head.depth", std::int64_t{0}},
                                                                 {"optim.schedule", word("linear")},
                                                                 {"optim.warmup", 0.6},
                                                                 {"optim.weight_decay", 0.5},
                                                                 {"optim.layer_decay", 0.5},
                                                                 {"optim.clip_norm", 0.01},
                                                                 {"optim.kind", word("adafactor")},
                                                                 {"train.frozen_layers", std::int64_t{1}},
                                                                 {"train.grad_accum", std::int64_t{2}}};
    for (const auto& [name, value] : levers) {
        CAPTURE(name);
        CHECK(loss(name, value) != plain);
    }
    CHECK(loss("loader_workers", std::int64_t{2}) == plain);
    CHECK(loss("train.patience", std::int64_t{9}) == plain);
}

TEST_CASE("texts are classified under bf16 about as in fp32, and loader workers change nothing") {
    const Texts texts;
    TextClassifier trainer;
    auto job = small_job(texts);
    const auto plain = complete(trainer, job);
    job.options["loader_workers"] = std::int64_t{2};
    CHECK(complete(trainer, job).values == plain.values);
    job.plan.precision = hpo::Precision::bf16;
    CHECK(complete(trainer, job).values.at(0) == Approx(plain.values.at(0)).margin(0.15));
}

TEST_CASE("a DeBERTa's model folder is fine-tuned like any other, whole, with frozen layers or with additions of low rank") {
    const Texts texts;
    const hpo::tests::TemporaryDirectory model;
    hpo::tests::write_tiny_deberta(model.path());
    TextClassifier trainer;
    auto job = folder_job(texts, model, 12);
    job.params["optim.lr"] = 0.01;
    CHECK(complete(trainer, job).values.at(0) > 0.6);

    job.options["epochs"] = std::int64_t{1};
    const auto learning = [&] {
        const auto profile = trainer.profile(job);
        REQUIRE(profile);
        return profile->trainable_parameters;
    };
    const std::int64_t head = 8 * 16 + 16 + 16 * 3 + 3;
    const std::int64_t layer = 4 * (8 * 8 + 8) + 2 * 8 * 12 + 12 + 8 + 4 * 8;
    const std::int64_t embeddings = 19 * 8 + 2 * 8 + 16 * 8 + 2 * 8;  // of tokens and of distances, with their norms
    CHECK(learning() == head + 2 * layer + embeddings);
    job.params["train.frozen_layers"] = std::int64_t{1};
    CHECK(learning() == head + layer);
    job.params["train.frozen_layers"] = std::int64_t{0};
    job.params["train.tuning"] = std::string{"lora"};
    job.params["lora.rank"] = std::int64_t{2};
    job.params["lora.targets"] = std::string{"query_proj,value_proj"};
    CHECK(learning() == head + 2 * 2 * 2 * (8 + 8));
    const auto kept = complete(trainer, job);
    job.plan.activation_checkpointing = true;
    CHECK(complete(trainer, job).values == kept.values);
    job.options["tok.max_length"] = std::int64_t{25};
    const auto problems = trainer.check(job);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0].what, Catch::Contains("at most 24"));
}

TEST_CASE("a saved text model is measured again, on other texts with its own words and classes, and trained on as a model folder") {
    const Texts texts;
    const hpo::tests::TemporaryDirectory home;
    hpo::TrainerJob job = small_job(texts);
    job.options["checkpoint_seconds"] = 0.0;
    const auto broken = hpo::testing::saving_contract_violations([] { return std::make_unique<TextClassifier>(); }, job, home.path());
    for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
    CHECK(broken.empty());

    TextClassifier trainer;
    Recorder recorder;
    const std::string model = home.file("model");
    const auto write_others = [&](const std::string& label) {
        std::ofstream file{home.path("others.tsv")};
        file << "section\ttext\n";
        for (int i = 0; i < 20; ++i) file << (i % 2 == 0 ? "games\tunheard game v" : label + "\tlibrary of v") << i << "\n";
    };
    hpo::TrainerJob measure = small_job(texts);
    measure.saved_model = model;
    const auto own = trainer.evaluate(measure, recorder);
    measure.options["data"] = home.file("others.tsv");
    write_others("librarys");
    const auto others = trainer.evaluate(measure, recorder);
    if (others.failure) FAIL(others.failure->message);
    CHECK(others.attributes.at("data_hash") != own.attributes.at("data_hash"));
    CHECK(others.attributes.at("validation_examples") != own.attributes.at("validation_examples"));
    measure = small_job(texts);
    measure.saved_model = model;
    CHECK(trainer.evaluate(measure, recorder).attributes.at("data_hash") == own.attributes.at("data_hash"));
    for (const auto& [name, value] : std::vector<std::pair<std::string, hpo::Value>>{
             {"split_seed", std::int64_t{1}}, {"validation_share", 0.2}, {"validation_examples", std::int64_t{20}}}) {
        CAPTURE(name);
        hpo::TrainerJob divided = measure;
        divided.options[name] = value;
        const auto measured = trainer.evaluate(divided, recorder);
        REQUIRE(measured.kind == hpo::OutcomeKind::complete);
        CHECK(measured.attributes.at("data_hash") != own.attributes.at("data_hash"));
    }
    measure.options["data"] = home.file("others.tsv");
    CHECK(std::stod(others.attributes.at("accuracy")) > 0.9);
    write_others("sounds");
    const auto unknown = TextClassifier{}.evaluate(measure, recorder);
    REQUIRE(unknown.failure);
    CHECK_THAT(unknown.failure->message, Catch::Contains("'sounds'") && Catch::Contains("known: fonts, games, librarys"));

    const auto measure_all = [&](const std::string& rows, std::int64_t expected) {
        std::ofstream{home.path("few.tsv")} << "section\ttext\n" << rows;
        hpo::TrainerJob few = small_job(texts);
        few.saved_model = model;
        few.options["data"] = home.file("few.tsv");
        few.options["validation_share"] = 1.0;
        few.options["train_examples"] = std::int64_t{100};
        few.options["validation_examples"] = std::int64_t{100};
        const auto measured = TextClassifier{}.evaluate(few, recorder);
        if (measured.failure) FAIL(measured.failure->where + ": " + measured.failure->message);
        CHECK(measured.attributes.at("validation_examples") == std::to_string(expected));
        CHECK(std::stod(measured.attributes.at("accuracy")) == 1);
        CHECK_FALSE(measured.attributes.contains("test_accuracy"));
    };
    measure_all("fonts\tfont v1\n", 1);
    measure_all("fonts\tfont v1\ngames\tgame v2\nfonts\tfont for v3\n", 3);
    hpo::TrainerJob too_many = small_job(texts);
    too_many.options["train_examples"] = std::int64_t{1000};
    const auto refused = TextClassifier{}.check(too_many);
    REQUIRE(refused.size() == 1);
    CHECK_THAT(refused[0].what, Catch::Contains("texts.tsv: train_examples: got 1000; expected 0 for all, or at most"));

    hpo::TrainerJob more = small_job(texts);
    more.options["model"] = model;
    more.options["epochs"] = std::int64_t{1};
    more.params["optim.lr"] = 1e-4;
    CHECK(complete(trainer, more).values.at(0) > 0.3);
    more.model_folder = home.file("second");
    std::filesystem::create_directory(more.model_folder);
    static_cast<void>(complete(trainer, more));
    measure = small_job(texts);
    measure.options["model"] = home.file("moved away");
    measure.saved_model = more.model_folder;
    const auto second = TextClassifier{}.evaluate(measure, recorder);
    if (second.failure) FAIL(second.failure->message);
    std::filesystem::remove(home.path("second") / "labels.json");
    const auto without_labels = TextClassifier{}.evaluate(measure, recorder);
    REQUIRE(without_labels.failure);
    CHECK_THAT(without_labels.failure->message, Catch::Contains("second/labels.json: no such file"));
}

TEST_CASE("models that began from a published folder are saved as model folders of their own, whichever family they are of") {
    const Texts texts;
    for (const bool deberta : {false, true}) {
        CAPTURE(deberta);
        const hpo::tests::TemporaryDirectory published;
        deberta ? hpo::tests::write_tiny_deberta(published.path()) : hpo::tests::write_tiny_bert(published.path());
        const hpo::tests::TemporaryDirectory home;
        hpo::TrainerJob job = folder_job(texts, published, 3);
        job.options["checkpoint_seconds"] = 0.0;
        job.params["train.tuning"] = std::string{"lora"};
        const auto broken = hpo::testing::saving_contract_violations([] { return std::make_unique<TextClassifier>(); }, job, home.path());
        for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
        CHECK(broken.empty());
        job.options["model"] = home.file("model");
        TextClassifier trainer;
        CHECK(complete(trainer, job).values.size() == 1);
    }
}
