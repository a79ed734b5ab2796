// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/text/model_folder.hpp"
#include "hpo/torch/encoder/read_encoder.hpp"
#include "hpo/torch/load_weights.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "hpo/weights/weights.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "torch/encoder/deberta_encoder.hpp"
#include "weights/write_safetensors.hpp"

using namespace hpo::libtorch;
using hpo::weights::Dtype;
using nlohmann::json;
using torch::Tensor;

namespace {

const std::filesystem::path folder = HPO_SOURCE_DIR "/tests/torch/encoders";

json read_json(const std::filesystem::path& file) { return json::parse(std::ifstream{file}); }

struct Padded {
    Tensor ids;
    Tensor mask;
};

Padded padded(const json& texts, std::int64_t pad) {
    std::size_t width = 0;
    for (const json& text : texts) width = std::max(width, text.size());
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(texts.size()), static_cast<std::int64_t>(width)};
    Padded batch{torch::full(shape, pad, torch::kLong), torch::zeros(shape, torch::kLong)};
    for (std::int64_t row = 0; row < shape[0]; ++row) {
        const auto ids = texts.at(static_cast<std::size_t>(row)).get<std::vector<std::int64_t>>();
        const auto length = static_cast<std::int64_t>(ids.size());
        batch.ids[row].slice(0, 0, length).copy_(torch::tensor(ids, torch::kLong));
        batch.mask[row].slice(0, 0, length).fill_(1);
    }
    return batch;
}

double largest_difference(const Tensor& a, const Tensor& b) {
    REQUIRE(a.sizes() == b.sizes());
    return (a - b).abs().max().item<double>();
}

std::set<std::string> parameter_names(const torch::nn::Module& module) {
    std::set<std::string> names;
    for (const auto& each : module.named_parameters()) names.insert(each.key());
    return names;
}

/// A model folder's tensors as numbers, to be changed and written elsewhere.
struct Checkpoint {
    struct Stored {
        Dtype dtype;
        std::vector<std::int64_t> shape;
        std::vector<std::byte> bytes;
    };
    std::map<std::string, Stored> tensors;
    json config;

    explicit Checkpoint(const std::filesystem::path& from) : config(read_json(from / "config.json")) {  // in braces it would be a list
        const auto weights = hpo::weights::Weights::open(from);
        for (const auto& [name, tensor] : weights.tensors())
            tensors[name] = {tensor.dtype, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}};
    }
    void rename(const std::string& from, const std::string& to) {
        auto node = tensors.extract(from);
        REQUIRE(!node.empty());
        node.key() = to;
        tensors.insert(std::move(node));
    }
    void put(const std::string& name, const Tensor& numbers, Dtype dtype) {
        Stored stored{dtype, numbers.sizes().vec(), std::vector<std::byte>(numbers.nbytes())};
        std::memcpy(stored.bytes.data(), numbers.contiguous().data_ptr(), stored.bytes.size());
        tensors[name] = std::move(stored);
    }
    void write(const std::filesystem::path& to) const {
        hpo::weights::TensorMap map;
        for (const auto& [name, stored] : tensors) map[name] = {.dtype = stored.dtype, .shape = stored.shape, .bytes = stored.bytes};
        hpo::weights::write_safetensors(to / "model.safetensors", map);
        std::ofstream{to / "config.json"} << config;
    }
};

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const hpo::Error& error) {
        return error.what();
    }
    return "nothing was refused";
}

Tensor hidden(Encoder& encoder, const Padded& batch) {
    const torch::NoGradGuard no_gradients;
    encoder.eval();
    return encoder.forward(batch.ids, batch.mask);
}

}  // namespace

TEST_CASE("hidden states of small BERT, RoBERTa and DeBERTa encoders equal the reference's, whatever the padding") {
    for (const std::string name : {"bert", "roberta", "deberta"}) {
        CAPTURE(name);
        const auto encoder = read_encoder(folder / name);
        const json expected = read_json(folder / name / "expected.json");
        const Padded batch = padded(expected.at("texts"), encoder->config().pad);
        const Tensor states = hidden(*encoder, batch);
        const Tensor reference = torch::tensor(expected.at("hidden").get<std::vector<double>>()).to(torch::kFloat).view(states.sizes());
        const Tensor tokens = batch.mask.unsqueeze(2);
        CHECK(largest_difference(states * tokens, reference * tokens) < 1e-5);
        CHECK(reference.abs().max().item<double>() > 1);

        for (std::size_t row = 0; row < expected.at("texts").size(); ++row) {
            const json alone = json::array({expected.at("texts").at(row)});
            const auto length = static_cast<std::int64_t>(alone.at(0).size());
            const Tensor ids = padded(alone, 0).ids;
            CHECK(largest_difference(hidden(*encoder, {ids, {}})[0], states[static_cast<std::int64_t>(row)].slice(0, 0, length)) < 1e-5);
        }
    }
}

TEST_CASE("an encoder's parameters have the names of the published checkpoint") {
    const auto stored = [](const std::string& name, const std::string& prefix) {
        std::set<std::string> names;
        const auto weights = hpo::weights::Weights::open(folder / name);
        for (const auto& [key, tensor] : weights.tensors()) {
            if (key.starts_with(prefix) && !key.starts_with("pooler.")) names.insert(key.substr(prefix.size()));
        }
        return names;
    };
    CHECK(parameter_names(*read_encoder(folder / "bert")) == stored("bert", ""));
    CHECK(stored("bert", "").contains("encoder.layer.1.attention.self.query.weight"));
    CHECK(parameter_names(*read_encoder(folder / "deberta")) == stored("deberta", "deberta."));
    CHECK(stored("deberta", "deberta.").contains("encoder.layer.1.attention.self.query_proj.weight"));
}

TEST_CASE("distances share buckets as in the reference") {
    const auto counts = read_json(folder / "distance_buckets.json").get<std::vector<std::int64_t>>();
    std::int64_t distance = 0;
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
        for (std::int64_t i = 0; i < counts[bucket]; ++i, ++distance) {
            CAPTURE(distance);
            CHECK(distance_bucket(distance, {.buckets = 256, .farthest = 512}) == static_cast<std::int64_t>(bucket));
        }
    }
    CHECK(distance == 512);
    CHECK(distance_bucket(300, {.buckets = 0, .farthest = 512}) == 300);

    const DistanceRows few = distance_rows(3, {.buckets = 256, .farthest = 512}, torch::kCPU);
    CHECK(few.begin == 254);
    CHECK(few.count == 5);
    CHECK(few.rows.equal(torch::tensor({{2, 1, 0}, {3, 2, 1}, {4, 3, 2}}, torch::kLong)));
    const DistanceRows all = distance_rows(512, {.buckets = 0, .farthest = 256}, torch::kCPU);
    CHECK(all.begin == 0);
    CHECK(all.count == 512);
    CHECK(all.rows[0][511].item<std::int64_t>() == 0);
    CHECK(all.rows[511][0].item<std::int64_t>() == 511);
}

TEST_CASE("embeddings of positions that a DeBERTa's file has besides are passed over") {
    const hpo::tests::TemporaryDirectory work;
    Checkpoint checkpoint{folder / "deberta"};
    checkpoint.put("deberta.embeddings.position_embeddings.weight", torch::zeros({24, 8}), Dtype::f32);
    checkpoint.write(work.path());
    CHECK_NOTHROW(read_encoder(work.path()));
    checkpoint.put("deberta.encoder.conv.weight", torch::zeros({8}), Dtype::f32);
    checkpoint.write(work.path());
    CHECK(refusal([&] { static_cast<void>(read_encoder(work.path())); }) ==
          work.file("model.safetensors") + ": has tensor 'deberta.encoder.conv.weight', which the model lacks");
}

TEST_CASE("dropout draws in training and not in evaluation") {
    const auto encoder = read_encoder(folder / GENERATE("bert", "deberta"));
    const Padded batch = padded(json::array({{2, 7, 18, 3}}), 0);
    CHECK(hidden(*encoder, batch).equal(hidden(*encoder, batch)));
    encoder->train();
    torch::manual_seed(1);
    const Tensor first = encoder->forward(batch.ids, batch.mask);
    CHECK_FALSE(first.equal(encoder->forward(batch.ids, batch.mask)));
    torch::manual_seed(1);
    CHECK(first.equal(encoder->forward(batch.ids, batch.mask)));
}

TEST_CASE("recomputed layers give the same gradients to the last bit, with dropout") {
    const std::string family = GENERATE("bert", "deberta");
    const Padded batch = padded(json::array({{2, 7, 18, 4, 3}, {2, 5, 3}}), 0);
    const auto gradients = [&](bool recompute) {
        const auto encoder = read_encoder(folder / family);
        encoder->recompute(recompute);
        encoder->train();
        torch::manual_seed(5);
        encoder->forward(batch.ids, batch.mask).pow(2).sum().backward();
        std::map<std::string, Tensor> found;
        for (const auto& each : encoder->named_parameters()) found[each.key()] = each.value().grad();
        return found;
    };
    const auto kept = gradients(false);
    for (const auto& [name, gradient] : gradients(true)) {
        CAPTURE(name);
        CHECK(gradient.equal(kept.at(name)));
        if (name.ends_with("query.weight") || name.ends_with("query_proj.weight") || name.ends_with("rel_embeddings.weight"))
            CHECK(gradient.abs().max().item<double>() > 0);
    }
}

TEST_CASE("a drawn encoder has normal weights, and zeros for biases and padding") {
    hpo::text::EncoderConfig config{
        .vocabulary = 500, .hidden = 64, .layers = 1, .heads = 4, .intermediate = 128, .positions = 32, .pad = 3};
    torch::manual_seed(2);
    const auto encoder = draw_encoder(config, "model");
    const auto parameters = encoder->named_parameters();
    const Tensor& words = parameters["embeddings.word_embeddings.weight"];
    CHECK(words.std().item<double>() == Approx(0.02).epsilon(0.02));
    CHECK(words[3].abs().sum().item<double>() == 0);
    CHECK(parameters["encoder.layer.0.output.dense.bias"].abs().sum().item<double>() == 0);
    CHECK(parameters["encoder.layer.0.output.LayerNorm.weight"].equal(torch::ones({64})));
    config.heads = 5;
    CHECK(refusal([&] { static_cast<void>(draw_encoder(config, "model")); }) ==
          "model: num_attention_heads: got 5; expected a divisor of hidden_size, which is 64");
}

TEST_CASE("texts longer than the positions are refused before they are looked up") {
    const auto encoder = read_encoder(folder / "roberta");
    CHECK(encoder->config().longest() == 10);
    CHECK_NOTHROW(encoder->forward(torch::full({1, 10}, 5, torch::kLong), {}));
    CHECK_THROWS_AS(encoder->forward(torch::full({1, 11}, 5, torch::kLong), {}), BadBatch);
}

TEST_CASE("stored weights of other floating types, with a prefix, or under older names are read") {
    const auto encoder = read_encoder(folder / "bert");
    const auto original = encoder->named_parameters();
    const std::string name = "encoder.layer.0.intermediate.dense.weight";
    Checkpoint checkpoint{folder / "bert"};
    checkpoint.put(name, original[name].detach().to(torch::kHalf), Dtype::f16);
    checkpoint.put("embeddings.word_embeddings.weight", original["embeddings.word_embeddings.weight"].detach().to(torch::kBFloat16),
                   Dtype::bf16);
    checkpoint.put("embeddings.position_ids", torch::arange(10).unsqueeze(0), Dtype::i64);
    checkpoint.rename("embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma");
    checkpoint.rename("embeddings.LayerNorm.bias", "embeddings.LayerNorm.beta");
    const auto tensors = checkpoint.tensors;
    for (const auto& [key, stored] : tensors) checkpoint.rename(key, "bert." + key);
    const hpo::tests::TemporaryDirectory work;
    checkpoint.write(work.path());

    const auto read = read_encoder(work.path());
    for (const auto& each : read->named_parameters()) {
        CAPTURE(each.key());
        Tensor expected = original[each.key()].detach();
        if (each.key() == name) expected = expected.to(torch::kHalf).to(torch::kFloat);
        if (each.key() == "embeddings.word_embeddings.weight") expected = expected.to(torch::kBFloat16).to(torch::kFloat);
        CHECK(each.value().equal(expected));
        CHECK(each.value().requires_grad());
    }
}

TEST_CASE("weights that do not fit the model are refused by file and tensor, and leave the model as it was") {
    struct Case {
        std::function<void(Checkpoint&)> change;
        std::string refusal;
    };
    const std::string query = "encoder.layer.1.attention.self.query.weight";
    const std::vector<Case> cases{
        {[&](Checkpoint& c) { c.tensors.erase(query); }, "lacks tensor '" + query + "', which the model has"},
        {[&](Checkpoint& c) { c.config["num_hidden_layers"] = 3; },
         "lacks tensor 'encoder.layer.2.attention.self.query.weight' and 15 more, which the model has"},
        {[&](Checkpoint& c) { c.config["num_hidden_layers"] = 1; },
         "has tensor 'encoder.layer.1.attention.output.LayerNorm.bias', which the model lacks"},
        {[&](Checkpoint& c) { c.put("embeddings.more.weight", torch::zeros({2}), Dtype::f32); },
         "has tensor 'embeddings.more.weight', which the model lacks"},
        {[&](Checkpoint& c) { c.config["vocab_size"] = 20; },
         "tensor 'embeddings.word_embeddings.weight': got shape [19, 8]; expected [20, 8], the model's"},
        {[&](Checkpoint& c) {
             c.put(query, torch::zeros({8, 8}, torch::kInt), Dtype::i32);
         },
         "tensor '" + query + "': got dtype I32; expected F32, F16, BF16 or F64"},
        {[&](Checkpoint& c) { c.rename("embeddings.word_embeddings.weight", "words"); },
         "lacks tensor 'embeddings.word_embeddings.weight', also with bert., roberta., deberta. or encoder. before it"},
    };
    for (const Case& each : cases) {
        const hpo::tests::TemporaryDirectory work;
        Checkpoint checkpoint{folder / "bert"};
        each.change(checkpoint);
        checkpoint.write(work.path());
        CHECK(refusal([&] { static_cast<void>(read_encoder(work.path())); }) == work.file("model.safetensors") + ": " + each.refusal);
    }

    const hpo::tests::TemporaryDirectory work;
    Checkpoint checkpoint{folder / "bert"};
    checkpoint.tensors.erase("encoder.layer.1.output.dense.bias");
    checkpoint.write(work.path());
    const auto encoder = draw_encoder(hpo::text::read_encoder_config(work.path()), "model");
    std::vector<Tensor> before;
    for (const Tensor& parameter : encoder->parameters()) before.push_back(parameter.detach().clone());
    CHECK_THROWS_AS(load_weights(*encoder, hpo::weights::Weights::open(work.path())), hpo::Error);
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(encoder->parameters()[i].equal(before[i]));
}

TEST_CASE("weights that are infinite or no numbers are refused by file and tensor") {
    const hpo::tests::TemporaryDirectory work;
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        for (const float wrong : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            Checkpoint checkpoint{folder / "bert"};
            checkpoint.tensors.clear();
            checkpoint.put("weight", torch::tensor({1.F, wrong, 60000.F}).to(*scalar_type(dtype)), dtype);
            checkpoint.put("bias", torch::tensor({65504.F, 65504.F, 65504.F}).to(*scalar_type(dtype)),
                           dtype);  // whose sum half precision does not hold
            checkpoint.write(work.path());
            torch::nn::LayerNorm norm{torch::nn::LayerNormOptions{{3}}};
            CHECK_THROWS_WITH(
                load_weights(*norm, hpo::weights::Weights::open(work.path())),
                Catch::Contains("model.safetensors: tensor 'weight': got 1 of 3 numbers infinite or NaN; expected finite weights"));
        }
    }
}

TEST_CASE("a module's buffers are read with its parameters") {
    torch::nn::BatchNorm1d norm{3};
    const hpo::tests::TemporaryDirectory work;
    Checkpoint checkpoint{folder / "bert"};
    checkpoint.tensors.clear();
    checkpoint.put("norm.weight", torch::tensor({1.F, 2.F, 3.F}), Dtype::f32);
    checkpoint.put("norm.bias", torch::tensor({4.F, 5.F, 6.F}), Dtype::f32);
    checkpoint.put("norm.running_mean", torch::tensor({7.F, 8.F, 9.F}), Dtype::f32);
    checkpoint.put("norm.running_var", torch::tensor({0.5F, 0.25F, 2.F}), Dtype::f32);
    checkpoint.put("norm.num_batches_tracked", torch::tensor(17), Dtype::i64);
    checkpoint.write(work.path());
    load_weights(*norm, hpo::weights::Weights::open(work.path()), "norm.");
    CHECK(norm->bias.equal(torch::tensor({4.F, 5.F, 6.F})));
    CHECK(norm->running_var.equal(torch::tensor({0.5F, 0.25F, 2.F})));
    CHECK(norm->num_batches_tracked.item<std::int64_t>() == 17);
}

TEST_CASE("hidden states of MiniLM equal the reference's", "[.][minilm]") {
    const char* const told = std::getenv("HPO_MINILM");
    REQUIRE(told != nullptr);
    const std::filesystem::path model{told};
    const auto encoder = read_encoder(model);
    const auto tokenizer = hpo::text::read_tokenizer(model);
    const json rows = read_json(folder / "minilm.json");
    json texts = json::array();
    for (const json& row : rows) {
        texts.push_back(tokenizer.encode(row.at("text").get<std::string>()));
        CHECK(texts.back() == row.at("ids"));
    }
    const Tensor states = hidden(*encoder, padded(texts, encoder->config().pad));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const json& row = rows.at(i);
        CAPTURE(row.at("text").get<std::string>());
        const Tensor text = states[static_cast<std::int64_t>(i)].slice(0, 0, static_cast<std::int64_t>(row.at("ids").size()));
        const Tensor chosen = text.index_select(0, torch::tensor(row.at("tokens").get<std::vector<std::int64_t>>())).slice(1, 0, 8);
        const Tensor numbers = torch::tensor(row.at("first_numbers").get<std::vector<double>>()).to(torch::kFloat).view(chosen.sizes());
        const Tensor norms = torch::tensor(row.at("norms").get<std::vector<double>>()).to(torch::kFloat);
        CHECK(largest_difference(chosen, numbers) < 1e-4);
        CHECK(largest_difference(text.norm(2, 1), norms) < 1e-4);
    }
}
