// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hpo/allocator/trace_file.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "hpo/torch/meta/onednn.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/prediction_key.hpp"
#include "image_classifier/image_classifier.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "text_classifier/text_classifier.hpp"
#include "torch/meta/cuda.hpp"
#include "torch/meta/device.hpp"
#include "torch/meta/factories.hpp"
#include "torch/prediction/dry_run.hpp"

using hpo::PeakPrediction;
using hpo::PeakSource;
using hpo::TrainerJob;
using hpo::tests::TemporaryDirectory;

namespace {

hpo::Value text(const char* word) { return hpo::Value{std::string{word}}; }

TrainerJob image_job(const char* kind) {
    TrainerJob job;
    job.params = {{"train.batch_size", std::int64_t{32}}, {"optim.lr", 1e-3}, {"model.kind", text(kind)}};
    job.options = {{"train_examples", std::int64_t{150}}, {"validation_examples", std::int64_t{50}}, {"epochs", std::int64_t{2}}};
    return job;
}

/// Texts of 20 to 80 words in two classes, of which 32 tokens are kept.
TrainerJob text_job(const std::filesystem::path& folder) {
    const auto file = folder / "texts.tsv";
    std::ofstream out{file};
    out << "text\tlabel\n";
    for (int i = 0; i < 100; ++i) {
        for (int word = 0; word < 20 + (i * 37) % 60; ++word) out << "word" << (i * 7 + word) % 50 << " ";
        out << "\t" << (i % 2 == 0 ? "even" : "odd") << "\n";
    }
    TrainerJob job;
    job.params = {{"train.batch_size", std::int64_t{12}}, {"optim.lr", 1e-3}};
    job.options = {{"data", file.string()},
                   {"epochs", std::int64_t{2}},
                   {"tok.max_length", std::int64_t{32}},
                   {"model.hidden", std::int64_t{64}},
                   {"model.intermediate", std::int64_t{256}}};
    return job;
}

PeakPrediction predicted(hpo::Trainer& trainer, const TrainerJob& job) {
    points::Recorder nobody;
    return trainer.predict(job, PeakSource::dry_run, nobody);
}

/// The peak of a whole attempt on a metered device.
std::int64_t measured(hpo::Trainer& trainer, TrainerJob job) {
    const TemporaryDirectory place;
    const auto device = hpo::device::MeteredDevice::create(place.path() / "device", std::int64_t{4} << 30);
    job.metered_device = (place.path() / "device").string();
    points::Recorder nobody;
    const auto outcome = trainer.run(job, nobody);
    CAPTURE(outcome.failure ? outcome.failure->message : "");
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome.peak_allocated.value();
}

/// Holds a prediction against the attempt; `share` is how far it may be off. An upper bound may be 5 % above it.
PeakPrediction compare(hpo::Trainer& trainer, const TrainerJob& job, double share) {
    const PeakPrediction prediction = predicted(trainer, job);
    const auto peak = static_cast<double>(measured(trainer, job));
    CHECK(static_cast<double>(prediction.need) >= peak * (1 - share));
    CHECK(static_cast<double>(prediction.need) <= peak * (1 + (prediction.upper_bound ? 0.05 : share)));
    std::int64_t sum = 0;
    for (const auto& part : prediction.parts) sum += part.bytes;
    CHECK(sum == prediction.need);
    return prediction;
}

/// Of a training in bf16, what oneDNN takes for products of its own may be too much to be known: the probe then tells the peak. Nothing is
/// returned then.
std::optional<PeakPrediction> compare_or_probe(hpo::Trainer& trainer, const TrainerJob& job, double share) {
    try {
        return compare(trainer, job, share);
    } catch (const hpo::Error& error) {
        CHECK_THAT(error.what(), Catch::Contains("a product of 16 bits, for which oneDNN may take up to") &&
                                     Catch::Contains("of its own: only a probe tells its memory"));
    }
    points::Recorder nobody;
    const PeakPrediction probed = trainer.predict(job, PeakSource::probe, nobody);
    CHECK_THAT(probed.remark, Catch::Contains("what oneDNN takes of its own for products of 16 bits changes with their size"));
    CHECK(static_cast<double>(probed.need) == Approx(static_cast<double>(measured(trainer, job))).epsilon(probed.uncertainty));
    return std::nullopt;
}

struct Case {
    std::string name;
    std::function<void(TrainerJob&)> change;
};

}  // namespace

TEST_CASE("a prediction takes nothing of the device that the latest attempt had, nor its cap") {
    hpo::libtorch::MeteredAllocator::instance().set_cap(100);
    hpo::image_classifier::ImageClassifier images;
    CHECK(predicted(images, image_job("mlp")).need > 100);
    CHECK_FALSE(hpo::libtorch::MeteredAllocator::instance().reading().limit);
}

TEST_CASE("a dry run predicts the peak of linear layers under every lever, to the last few bytes") {
    hpo::image_classifier::ImageClassifier trainer;
    const std::vector<Case> cases{
        {"plain", [](TrainerJob&) {}},
        {"a short micro-batch and a short step", [](TrainerJob& job) { job.plan.micro_batch = 12; }},
        {"sgd, dropout",
         [](TrainerJob& job) {
             job.params["optim.kind"] = text("sgd");
             job.params["train.dropout"] = 0.5;
         }},
        {"checkpointing",
         [](TrainerJob& job) {
             job.plan.activation_checkpointing = true;
             job.params["model.depth"] = std::int64_t{5};
         }},
        {"a probe, whose peak is in the forward pass", [](TrainerJob& job) { job.params["train.tuning"] = text("probe"); }},
        {"evaluation in large batches", [](TrainerJob& job) { job.options["eval_batch"] = std::int64_t{64}; }},
        {"clipping, smoothing, class weights",
         [](TrainerJob& job) {
             job.params["optim.clip_norm"] = 1.0;
             job.params["train.label_smoothing"] = 0.1;
             job.params["train.class_weights"] = text("balanced");
         }},
        {"bf16", [](TrainerJob& job) { job.plan.precision = hpo::Precision::bf16; }},
        {"a single step, before which the optimizer keeps nothing",
         [](TrainerJob& job) {
             job.options["epochs"] = std::int64_t{1};
             job.options["train_examples"] = std::int64_t{32};
             job.plan.micro_batch = 8;
         }},
        {"reports within a single epoch",
         [](TrainerJob& job) {
             job.options["epochs"] = std::int64_t{1};
             job.options["reports_per_epoch"] = std::int64_t{5};
         }},
        {"a single step and a short one",
         [](TrainerJob& job) {
             job.options["epochs"] = std::int64_t{1};
             job.options["train_examples"] = std::int64_t{50};
             job.plan.micro_batch = 8;
         }},
        {"a single whole batch and a shorter one, beside which alone the optimizer keeps anything",
         [](TrainerJob& job) {
             job.params["train.batch_size"] = std::int64_t{512};  // whose activations outweigh what a step of the optimizer takes
             job.options["epochs"] = std::int64_t{1};
             job.options["train_examples"] = std::int64_t{600};
         }},
        {"the same, accumulated four times and three",
         [](TrainerJob& job) {
             job.params["train.batch_size"] = std::int64_t{1024};
             job.options["epochs"] = std::int64_t{1};
             job.options["train_examples"] = std::int64_t{1664};
             job.plan.micro_batch = 256;
         }},
    };
    for (const Case& each : cases) {
        CAPTURE(each.name);
        TrainerJob job = image_job("mlp");
        each.change(job);
        compare_or_probe(trainer, job, 5e-4);
    }
}

TEST_CASE("a dry run predicts the peak of an encoder under every lever") {
    const TemporaryDirectory place;
    hpo::text_classifier::TextClassifier trainer;
    const std::vector<Case> cases{
        {"plain", [](TrainerJob&) {}},
        {"micro-batch", [](TrainerJob& job) { job.plan.micro_batch = 5; }},
        {"checkpointing", [](TrainerJob& job) { job.plan.activation_checkpointing = true; }},
        {"lora", [](TrainerJob& job) { job.params["train.tuning"] = text("lora"); }},
        {"adafactor, frozen embeddings",
         [](TrainerJob& job) {
             job.params["optim.kind"] = text("adafactor");
             job.params["train.frozen_embeddings"] = true;
         }},
        {"early stopping", [](TrainerJob& job) { job.options["train.patience"] = std::int64_t{1}; }},
        {"bf16", [](TrainerJob& job) { job.plan.precision = hpo::Precision::bf16; }},
    };
    for (const Case& each : cases) {
        CAPTURE(each.name);
        TrainerJob job = text_job(place.path());
        each.change(job);
        compare_or_probe(trainer, job, 1e-3);
    }
}

TEST_CASE("a dry run of texts of several lengths is an upper bound and says so, one of texts that are as long is exact") {
    const TemporaryDirectory place;
    hpo::text_classifier::TextClassifier trainer;
    TrainerJob job = text_job(place.path());
    const auto texts_of = [&](const char* name, const std::function<int(int)>& words_of) {
        job.options["data"] = place.file(name);
        std::ofstream out{place.path() / name};
        out << "text\tlabel\n";
        for (int i = 0; i < 40; ++i) {
            for (int word = 0; word < words_of(i); ++word) out << "word" << (i * 7 + word) % 50 << " ";
            out << "\t" << (i % 2 == 0 ? "even" : "odd") << "\n";
        }
    };
    job.options["epochs"] = std::int64_t{1};

    texts_of("uneven.tsv", [](int i) { return i < 10 ? 60 : 5; });  // the long ones are those of a single step
    const PeakPrediction bound = predicted(trainer, job);
    CHECK(bound.upper_bound);
    CHECK(bound.uncertainty == 0);
    CHECK_THAT(bound.remark, Catch::Contains("which a training may meet only in its first step, before the optimizer keeps anything"));
    std::vector<std::int64_t> peaks;
    for (job.seed = 0; job.seed < 8; ++job.seed) peaks.push_back(measured(trainer, job));
    const auto [least, most] = std::minmax_element(peaks.begin(), peaks.end());
    CHECK(*most <= bound.need + 1024);  // some kernels take a few hundred bytes of their own
    CHECK(static_cast<double>(*most) == Approx(static_cast<double>(bound.need)).epsilon(1e-3));
    CHECK(static_cast<double>(*least) < 0.97 * static_cast<double>(bound.need));

    texts_of("even.tsv", [](int) { return 60; });  // of which tok.max_length are kept
    const PeakPrediction exact = predicted(trainer, job);
    CHECK_FALSE(exact.upper_bound);
    CHECK(exact.remark.empty());
    for (job.seed = 0; job.seed < 3; ++job.seed) CHECK(static_cast<double>(measured(trainer, job)) == Approx(exact.need).epsilon(1e-4));
    job.options.erase("data");  // whatever stands for them may be more than they are
    CHECK(predicted(trainer, job).upper_bound);
}

TEST_CASE("a dry run knows most of what oneDNN makes on the way of a convolution") {
    hpo::image_classifier::ImageClassifier trainer;
    for (const char* kind : {"cnn", "resnet"}) {
        for (const char* norm : {"group", "batch"}) {
            CAPTURE(kind, norm);
            TrainerJob job = image_job(kind);
            job.options["norm"] = text(norm);
            compare(trainer, job, 0.05);
        }
    }
}

TEST_CASE("a convolution in bf16 is predicted where oneDNN computes it, and left to the probe elsewhere", "[bf16]") {
    const bool onednn_has_it = hpo::libtorch::onednn_has(torch::kBFloat16);
    if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) {
        CHECK_FALSE(onednn_has_it);  // this program is called with AVX2 only
    } else {
#if defined(__x86_64__)
        CHECK((onednn_has_it || __builtin_cpu_supports("avx512bw") == 0));
#endif
    }
    hpo::image_classifier::ImageClassifier images;
    points::Recorder nobody;
    for (const char* kind : {"cnn", "resnet"}) {
        CAPTURE(kind);
        TrainerJob job = image_job(kind);
        job.plan.precision = hpo::Precision::bf16;
        job.options["train_examples"] = std::int64_t{64};
        job.options["epochs"] = std::int64_t{1};
        TrainerJob on_cuda = job;
        on_cuda.plan.device = "cuda:0";
        CHECK_NOTHROW(predicted(images, on_cuda));
        if (onednn_has_it) {
            compare_or_probe(images, job, 0.05);
            continue;
        }
        CHECK_THROWS_WITH(predicted(images, job), Catch::Contains("a convolution of BFloat16, which this processor's oneDNN has not"));
        CHECK(static_cast<double>(images.predict(job, PeakSource::probe, nobody).need) ==
              Approx(static_cast<double>(measured(images, job))).epsilon(0.02));
    }
}

TEST_CASE("a dry run of what no machine has costs no memory and touches no device") {
    hpo::image_classifier::ImageClassifier trainer;
    TrainerJob job = image_job("mlp");
    job.params["model.width"] = std::int64_t{65536};
    job.params["model.depth"] = std::int64_t{32};
    job.metered_device = "/nonexistent/device";
    const std::int64_t held = hpo::libtorch::MeteredAllocator::instance().allocated_bytes();
    const PeakPrediction prediction = predicted(trainer, job);
    constexpr std::int64_t weights = std::int64_t{31} * 65536 * 65536 * 4;
    CHECK(prediction.need > 4 * weights);  // with gradients and two moments
    CHECK(prediction.parts.at(0).bytes > weights);
    CHECK(hpo::libtorch::MeteredAllocator::instance().allocated_bytes() == held);
}

TEST_CASE("a dry run leaves LibTorch as it was") {
    hpo::image_classifier::ImageClassifier trainer;
    const PeakPrediction first = predicted(trainer, image_job("cnn"));
    CHECK(predicted(trainer, image_job("cnn")) == first);
    CHECK(torch::empty({3}).device().is_cpu());
    CHECK(torch::ones({3}).sum().item<double>() == 3);
    CHECK_THROWS(torch::ones({2}, torch::kMeta).to(torch::kCPU));
}

TEST_CASE("what a dry run cannot run is named") {
    struct Sorted final : hpo::libtorch::Model {
        torch::nn::Linear layer{register_module("layer", torch::nn::Linear{6, 3})};
        hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
            return layer(batch.inputs.at(0)) * std::get<0>(torch::mode(layer->weight)).sum();
        }
    };
    points::PointsTrainer trainer;
    trainer.change = [](points::Points& task) {
        task.make_model = [] { return std::make_shared<Sorted>(); };
        task.parts.clear();
    };
    TrainerJob job;
    job.params = {{"train.batch_size", std::int64_t{8}}, {"optim.lr", 0.1}};
    CHECK_THROWS_WITH(predicted(trainer, job), Catch::StartsWith("in forward: ") && Catch::Contains("aten::mode"));
}

TEST_CASE("a training that mixes a GPU's tensors with host memory is told as one that cannot run on CUDA") {
    struct Masked final : hpo::libtorch::Model {
        struct Block final : torch::nn::Module {
            torch::nn::Linear scores{register_module("scores", torch::nn::Linear{6, 3})};
        };
        std::shared_ptr<Block> block{register_module("block", std::make_shared<Block>())};
        torch::nn::Linear head{register_module("head", torch::nn::Linear{3, 3})};
        hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
            const torch::Tensor half = torch::tensor(0.5);  // a single number may lie in host memory
            const torch::Tensor scores = block->scores(batch.inputs.at(0)) * half;
            return head(with_device ? scores + torch::arange(3, scores.device()) : scores + torch::arange(3));
        }
        bool with_device = false;
    };
    points::PointsTrainer trainer;
    bool with_device = false;
    trainer.change = [&](points::Points& task) {
        task.make_model = [&] {
            auto model = std::make_shared<Masked>();
            model->with_device = with_device;
            return model;
        };
        task.parts.clear();
    };
    TrainerJob job = points::job(8, 8);
    CHECK_THROWS_AS(predicted(trainer, job), hpo::Error);  // a dry run cannot mix them either, but the CPU itself has one memory
    try {
        static_cast<void>(predicted(trainer, job));
    } catch (const hpo::CannotRun&) {
        FAIL("the CPU has one memory");
    } catch (const hpo::Error&) {
    }
    job.plan.device = "cuda:0";
    const auto why_not = [&] {
        try {
            static_cast<void>(predicted(trainer, job));
        } catch (const hpo::CannotRun& error) {
            return std::string{error.what()};
        }
        return std::string{};
    };
    CHECK_THAT(why_not(), Catch::StartsWith("in forward, after block.scores, aten::add gets a tensor of shape [3] in host memory"));
    with_device = true;
    CHECK(why_not() == "");
    with_device = false;
    const auto make = [&] {
        auto made = std::make_unique<points::PointsTrainer>();
        made->change = trainer.change;
        return made;
    };
    TrainerJob short_job = points::job(8, 8);
    short_job.options["epochs"] = std::int64_t{1};
    const auto broken = hpo::testing::trainer_contract_violations(make, short_job);
    CHECK(std::any_of(broken.begin(), broken.end(), [](const hpo::TrainerProblem& problem) {
        return problem.what.starts_with("it cannot run on CUDA: in forward, after block.scores, aten::add gets a tensor of shape [3]");
    }));
    trainer.change = [](points::Points& task) { task.moves_inputs = false; };
    CHECK_THAT(why_not(), Catch::Contains("in forward, in first, aten::addmm gets a tensor of shape [8, 6] in host memory"));
}

TEST_CASE("an index may lie in host memory, the values that it sets may not") {
    struct Indexed final : hpo::libtorch::Model {
        torch::nn::Linear layer{register_module("layer", torch::nn::Linear{6, 3})};
        bool values_on_device = true;
        hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
            torch::Tensor sums = layer(batch.inputs.at(0)).clone();
            const torch::Tensor rows = torch::tensor({0, 1}, torch::kLong);
            const torch::Tensor picked = sums.index({rows});
            const torch::NoGradGuard no_gradients;
            torch::Tensor mask = torch::ones_like(sums);
            mask.index_put_({rows}, values_on_device ? torch::zeros({1, 3}, mask.device()) : torch::zeros({1, 3}));
            return sums;
        }
    };
    points::PointsTrainer trainer;
    bool values_on_device = true;
    trainer.change = [&](points::Points& task) {
        task.make_model = [&] {
            auto model = std::make_shared<Indexed>();
            model->values_on_device = values_on_device;
            return model;
        };
        task.parts.clear();
    };
    TrainerJob job = points::job(8, 8);
    job.plan.device = "cuda:0";
    CHECK(predicted(trainer, job).need > 0);
    values_on_device = false;
    CHECK_THROWS_WITH(predicted(trainer, job), Catch::StartsWith("in forward, after layer, aten::index_put_ gets a tensor of shape [3]"));
}

TEST_CASE("check says that another thread computed while forward ran") {
    struct Threaded final : hpo::libtorch::Model {
        torch::nn::Linear layer{register_module("layer", torch::nn::Linear{6, 3})};
        bool in_a_thread = true;
        hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
            torch::Tensor out;
            const auto compute = [&] { out = layer(batch.inputs.at(0)); };
            if (in_a_thread) std::thread{compute}.join();
            else compute();
            return out;
        }
    };
    for (const bool in_a_thread : {true, false}) {
        points::PointsTrainer trainer;
        trainer.change = [&](points::Points& task) {
            task.make_model = [&] {
                auto model = std::make_shared<Threaded>();
                model->in_a_thread = in_a_thread;
                return model;
            };
            task.parts.clear();
        };
        points::Recorder recorder;
        CHECK(trainer.stoppable_check(points::job(8, 8), recorder).empty());
        const bool told = std::any_of(recorder.lines.begin(), recorder.lines.end(), [](const std::string& line) {
            return line.starts_with("another thread computed while forward ran");
        });
        CHECK(told == in_a_thread);
    }
}

TEST_CASE("errors of predictions say in which phase they came") {
    points::PointsTrainer trainer;
    trainer.change = [](points::Points& task) { task.throws_in_batch = true; };
    points::Recorder nobody;
    for (const PeakSource source : {PeakSource::dry_run, PeakSource::probe})
        CHECK_THROWS_WITH(trainer.predict(points::job(8, 8), source, nobody), Catch::Contains("in batch: no such example"));
    const auto problems = trainer.stoppable_check(points::job(8, 8), nobody);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].where == "batch");
}

TEST_CASE("a probe predicts the peak from small real steps, with a share that it may be off") {
    hpo::image_classifier::ImageClassifier images;
    points::Recorder nobody;
    for (const char* kind : {"mlp", "cnn"}) {
        CAPTURE(kind);
        const PeakPrediction prediction = images.predict(image_job(kind), PeakSource::probe, nobody);
        CHECK(prediction.source == PeakSource::probe);
        CHECK(static_cast<double>(prediction.need) == Approx(static_cast<double>(measured(images, image_job(kind)))).epsilon(0.02));
        CHECK(prediction.uncertainty >= 0.02);
    }
    TrainerJob uneven = image_job("mlp");  // a whole micro-batch and a short one, whose gradients are kept meanwhile
    uneven.params["train.batch_size"] = std::int64_t{40};
    uneven.plan.micro_batch = 24;
    const auto peak = static_cast<double>(measured(images, uneven));
    const auto need = static_cast<double>(images.predict(uneven, PeakSource::probe, nobody).need);
    CHECK(need >= 0.999 * peak);
    CHECK(need <= 1.1 * peak);
    TrainerJob small = image_job("cnn");
    small.plan.micro_batch = 1;  // recorded as it is
    CHECK(static_cast<double>(images.predict(small, PeakSource::probe, nobody).need) ==
          Approx(static_cast<double>(measured(images, small))).epsilon(0.01));
}

TEST_CASE("a probe of a training of one single step has no optimizer's state at its peak") {
    hpo::image_classifier::ImageClassifier images;
    points::Recorder nobody;
    const auto one_step = [](const char* kind, std::int64_t epochs) {
        TrainerJob job = image_job(kind);
        job.options["epochs"] = epochs;
        job.options["train_examples"] = std::int64_t{32};
        return job;
    };
    const auto probed = [&](const TrainerJob& job) { return images.predict(job, PeakSource::probe, nobody).need; };
    CHECK(probed(one_step("mlp", 1)) == measured(images, one_step("mlp", 1)));
    CHECK(probed(one_step("mlp", 1)) < probed(one_step("mlp", 2)));
    CHECK(probed(one_step("mlp", 2)) == measured(images, one_step("mlp", 2)));
    CHECK(static_cast<double>(probed(one_step("cnn", 1))) ==
          Approx(static_cast<double>(measured(images, one_step("cnn", 1)))).epsilon(0.01));
}

TEST_CASE("trainings that one kept prediction serves are predicted alike, and one that may be a single step is none of them") {
    hpo::image_classifier::ImageClassifier images;
    hpo::FileStamps files;
    const auto job_of = [](std::int64_t epochs, std::int64_t accumulated) {
        TrainerJob job = image_job("mlp");
        job.params["train.batch_size"] = job.plan.effective_batch.emplace(8);
        job.params["train.grad_accum"] = accumulated;
        job.options["epochs"] = epochs;
        job.options["train_examples"] = std::int64_t{44};
        return job;
    };
    const auto key = [&](const TrainerJob& job) { return prediction_key(images.info(), {}, job, PeakSource::dry_run, files); };
    for (const std::string device : {"cpu", "cuda"}) {
        CAPTURE(device);
        for (const std::int64_t accumulated : {3, 5, 6, 8}) {  // of 44 examples the last two are one step
            CAPTURE(accumulated);
            TrainerJob two = job_of(3, 2);
            TrainerJob more = job_of(3, accumulated);
            two.plan.device = more.plan.device = device;
            CHECK(key(two) == key(more));
            const auto need = static_cast<double>(predicted(images, two).need);
            CHECK(static_cast<double>(predicted(images, more).need) == Approx(need).epsilon(device == "cpu" ? 0 : 0.01));
        }
    }
    CHECK(key(job_of(1, 2)) != key(job_of(1, 8)));
    CHECK(predicted(images, job_of(1, 8)).need < predicted(images, job_of(1, 2)).need);
    for (const std::int64_t accumulated : {2, 8}) compare(images, job_of(1, accumulated), 5e-4);
}

TEST_CASE("channels that oneDNN fills up to blocks are left to the probe") {
    hpo::image_classifier::ImageClassifier images;
    points::Recorder nobody;
    for (const char* kind : {"cnn", "resnet"}) {
        CAPTURE(kind);
        TrainerJob job = image_job(kind);
        job.params["model.channels"] = std::int64_t{4};
        CHECK_THROWS_WITH(predicted(images, job), Catch::Contains("oneDNN fills up to blocks of 16: only a probe"));
        CHECK(static_cast<double>(images.predict(job, PeakSource::probe, nobody).need) ==
              Approx(static_cast<double>(measured(images, job))).epsilon(0.02));
        job.plan.device = "cuda:0";
        CHECK(predicted(images, job).need > 0);
    }
}

TEST_CASE("a probe of a training whose events depend on the batch says so") {
    points::PointsTrainer trainer;
    struct Uneven final : hpo::libtorch::Model {
        torch::nn::Linear layer{register_module("layer", torch::nn::Linear{6, 3})};
        hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
            torch::Tensor sum = layer(batch.inputs.at(0));
            for (std::int64_t i = 0; i < batch.examples(); ++i) sum = sum + layer(batch.inputs.at(0)) * 0.1;
            return sum;
        }
    };
    trainer.change = [](points::Points& task) {
        task.make_model = [] { return std::make_shared<Uneven>(); };
        task.parts.clear();
    };
    points::Recorder nobody;
    CHECK_THROWS_WITH(trainer.predict(points::job(24, 24), PeakSource::probe, nobody), Catch::Contains("in another order with batch 20"));
}

TEST_CASE("on CUDA the allocator and the context count, and dropout keeps a byte for a number") {
    const TemporaryDirectory place;
    hpo::text_classifier::TextClassifier trainer;
    TrainerJob job = text_job(place.path());
    const PeakPrediction cpu = predicted(trainer, job);
    job.plan.device = "cuda:0";
    const PeakPrediction cuda = predicted(trainer, job);
    CHECK(cuda.requested_bytes < cpu.requested_bytes + (32 << 20));
    CHECK(cuda.requested_bytes <= cuda.allocated_bytes);
    CHECK(cuda.allocated_bytes <= cuda.reserved_bytes);
    const std::int64_t context = cuda.parts.at(5).bytes;
    CHECK(cuda.parts.at(5).name == "context");
    CHECK(cuda.need >= cuda.allocated_bytes + context);
    CHECK(cuda.need <= cuda.comfort);
    CHECK(cuda.comfort <= cuda.reserved_bytes + context + (2 << 20));
    CHECK(cuda.uncertainty > 0);
    const auto activations = [](const PeakPrediction& prediction) { return prediction.parts.at(3).bytes; };
    CHECK(activations(cuda) < activations(cpu));
    job.params["train.dropout"] = 0.0;
    job.params["train.attention_dropout"] = 0.0;
    CHECK(activations(predicted(trainer, job)) < activations(cuda));
    job.plan.allocator_settings = "max_split_size:1";
    CHECK_THROWS_WITH(predicted(trainer, job), Catch::Contains("max_split_size") && Catch::Contains("did you mean"));
}

TEST_CASE("what a dry run for CUDA puts in place of LibTorch's operators has their derivatives, also the second ones") {
    using torch::Tensor;
    struct Operator {
        const char* name;
        std::function<Tensor(const Tensor&)> apply;
    };
    const auto ids = [](const Tensor& x) { return torch::zeros({4, 3}, x.options().dtype(torch::kLong)); };
    const std::vector<Operator> operators{
        {"gather", [&](const Tensor& x) { return x.gather(1, ids(x)); }},
        {"index_select", [&](const Tensor& x) { return x.index_select(1, ids(x)[0]); }},
        {"max of a dimension", [](const Tensor& x) { return std::get<0>(x.max(1)); }},
        {"max of a dimension that is kept", [](const Tensor& x) { return std::get<0>(x.max(0, true)); }},
        {"min of a dimension", [](const Tensor& x) { return std::get<0>(x.min(-1)); }},
        {"index", [&](const Tensor& x) { return x.index({ids(x)[0]}); }},
        {"embedding", [&](const Tensor& x) { return torch::embedding(x, ids(x)); }},
        {"mish", [](const Tensor& x) { return torch::mish(x); }},
        {"softmax", [](const Tensor& x) { return torch::softmax(x, 1, torch::kFloat); }},
        {"log_softmax", [](const Tensor& x) { return torch::log_softmax(x, 1); }},
        {"dropout", [](const Tensor& x) { return torch::dropout(x, 0.5, true); }},
        {"mean", [](const Tensor& x) { return x.mean(1); }},
        {"norm", [](const Tensor& x) { return x.norm(2, 1); }},
        {"mm", [](const Tensor& x) { return x.mm(x.t()); }},
        {"mse_loss", [](const Tensor& x) { return torch::mse_loss(x, torch::ones_like(x)); }},
    };
    const auto check = [&](torch::Device device) {
        for (const Operator& each : operators) {
            CAPTURE(each.name, device.str());
            const Tensor x = torch::ones({4, 6}, device).requires_grad_();
            const Tensor y = each.apply(x);
            const Tensor first = torch::autograd::grad({(y * y).sum()}, {x}, {}, true, true)[0];
            REQUIRE(first.requires_grad());
            const Tensor second = torch::autograd::grad({first.sum()}, {x})[0];
            REQUIRE(second.defined());
            CHECK(first.sizes() == x.sizes());
            CHECK(second.sizes() == x.sizes());
        }
    };
    check(torch::kCPU);
    const hpo::libtorch::MetaFactories factories;
    const hpo::libtorch::MetaDevice device{hpo::libtorch::MetaTarget::cuda};
    const hpo::libtorch::MetaCuda cuda;
    check(torch::kMeta);
}

TEST_CASE("a trace that is kept says which module and operator took a block") {
    const TemporaryDirectory place;
    hpo::image_classifier::ImageClassifier trainer;
    TrainerJob job = image_job("mlp");
    job.params["train.tuning"] = text("lora");
    const PeakPrediction plain = predicted(trainer, job);
    job.trace_file = place.file("trace");
    CHECK(predicted(trainer, job) == plain);
    const auto trace = hpo::allocator::read_trace(job.trace_file);
    CHECK(hpo::allocator::requested_peak(trace).bytes == plain.requested_bytes);
    const auto has = [&](const std::string& scope, std::int64_t bytes) {
        return std::any_of(trace.blocks.begin(), trace.blocks.end(),
                           [&](const auto& block) { return block.bytes == bytes && trace.scopes.at(block.scope).starts_with(scope); });
    };
    CHECK(has("segment0.linear weights", 784 * 128 * 4));
    CHECK(has("segment1.linear aten::linear", 32 * 128 * 4));  // x A^T B^T and the frozen layer's
    CHECK((has("head aten::linear", 32 * 10 * 4) || has("head aten::addmm", 32 * 10 * 4)));
    CHECK(has("head AddmmBackward0", 128 * 10 * 4));
    CHECK(has("head optimizer aten::zeros_like", 128 * 10 * 4));  // AdamW's moments
    CHECK(has("aten::to", 32 * 784 * 4));                         // a batch belongs to no module
    CHECK(std::none_of(trace.scopes.begin(), trace.scopes.end(),
                       [](const std::string& scope) { return scope.find("evaluate_function") != std::string::npos; }));
}

TEST_CASE("a trace tells what follows a submodule's call as its parent's, and what the optimizer takes as the optimizer's") {
    struct Attention final : torch::nn::Module {
        torch::nn::Linear query{register_module("query", torch::nn::Linear{6, 16})};
        torch::nn::Linear key{register_module("key", torch::nn::Linear{6, 16})};
        torch::nn::Linear out{register_module("out", torch::nn::Linear{8, 3})};
        torch::Tensor forward(const torch::Tensor& x) {
            const torch::Tensor shares = torch::softmax(query(x) * key(x), 1);
            return out(torch::tanh(out(torch::erf(out(torch::tanh(shares.slice(1, 0, 8))).sum() + shares.slice(1, 0, 8))).sum() +
                                   shares.slice(1, 0, 8)));
        }
    };
    struct Network final : hpo::libtorch::Model {
        std::shared_ptr<Attention> attention{register_module("attention", std::make_shared<Attention>())};
        torch::nn::Linear head{register_module("head", torch::nn::Linear{3, 3})};
        hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
            return torch::sigmoid(head(torch::relu(attention->forward(batch.inputs.at(0)))));
        }
    };
    points::PointsTrainer trainer;
    trainer.change = [](points::Points& task) {
        task.make_model = [] { return std::make_shared<Network>(); };
        task.parts.clear();
    };
    const TemporaryDirectory place;
    TrainerJob job = points::job(24, 24);
    job.trace_file = place.file("trace");
    static_cast<void>(predicted(trainer, job));
    const auto trace = hpo::allocator::read_trace(job.trace_file);
    const auto has = [&](const std::string& scope) {
        return std::any_of(trace.blocks.begin(), trace.blocks.end(),
                           [&](const auto& block) { return trace.scopes.at(block.scope) == scope; });
    };
    CHECK((has("attention.query aten::linear") || has("attention.query aten::addmm")));
    CHECK(has("attention aten::softmax"));
    CHECK(has("attention aten::tanh"));
    CHECK(has("after attention.out aten::erf"));  // between two calls of one module
    CHECK(has("attention SoftmaxBackward0"));
    CHECK(has("after attention.out aten::relu"));  // between attention.out and head lies the network itself
    CHECK(has("after attention.out ReluBackward0"));
    CHECK(has("after head aten::sigmoid"));
    CHECK(has("head optimizer aten::zeros_like"));
    CHECK(has("optimizer aten::sqrt"));
    for (const auto& block : trace.blocks) {
        const std::string& scope = trace.scopes.at(block.scope);
        CAPTURE(scope);
        CHECK_FALSE((scope.starts_with("attention.key ") && scope.find("oftmax") != std::string::npos));
        CHECK_FALSE((scope.starts_with("head ") && scope.find("igmoid") != std::string::npos));
    }
}

TEST_CASE("a recorded training takes what its dry run says") {
    const TemporaryDirectory place;
    hpo::image_classifier::ImageClassifier trainer;
    TrainerJob job = image_job("mlp");
    const PeakPrediction prediction = predicted(trainer, job);
    job.trace_file = place.file("trace");
    const std::int64_t peak = measured(trainer, job);
    const auto trace = hpo::allocator::read_trace(job.trace_file);
    CHECK(hpo::allocator::requested_peak(trace).bytes == peak);
    CHECK(static_cast<double>(peak) == Approx(static_cast<double>(prediction.need)).epsilon(1e-4));
    CHECK(std::any_of(trace.phases.begin(), trace.phases.end(), [](const auto& phase) { return phase.name == "backward"; }));
    CHECK(std::any_of(trace.scopes.begin(), trace.scopes.end(), [](const std::string& scope) { return scope.starts_with("head"); }));
}

TEST_CASE("a context that is known takes the place of the usual one") {
    const TemporaryDirectory place;
    hpo::text_classifier::TextClassifier trainer;
    TrainerJob job = text_job(place.path());
    job.plan.device = "cuda:0";
    const PeakPrediction usual = predicted(trainer, job);
    job.cuda_context_bytes = std::int64_t{500} << 20;
    const PeakPrediction known = predicted(trainer, job);
    CHECK(known.need == usual.need - (std::int64_t{100} << 20));
    CHECK_THAT(known.remark, Catch::Contains("the context is taken to be 500.00 MiB"));
}

#if TORCH_VERSION_MAJOR >= 2
TEST_CASE("cuBLAS's workspace on the device that is meant counts twice") {
    const TemporaryDirectory place;
    hpo::text_classifier::TextClassifier trainer;
    TrainerJob job = text_job(place.path());
    job.plan.device = "cuda:0";
    const PeakPrediction usual = predicted(trainer, job);
    CHECK_THAT(usual.remark, Catch::Contains("cuBLAS's two workspaces 8.12 MiB each, of which Hopper has larger ones"));
    job.cublas_workspace_bytes = std::int64_t{32} << 20;
    const PeakPrediction hopper = predicted(trainer, job);
    CHECK(hopper.requested_bytes == usual.requested_bytes + 2 * ((32 << 20) - 8'519'680));
    CHECK_THAT(hopper.remark, Catch::Contains("cuBLAS's two workspaces 32.00 MiB each") && !Catch::Contains("Hopper"));
}
#endif

TEST_CASE("a probe of long texts records shorter ones where memory grows evenly with their length") {
    const TemporaryDirectory place;
    hpo::text_classifier::TextClassifier trainer;
    TrainerJob job = text_job(place.path());
    std::ofstream out{place.path() / "long.tsv"};
    out << "text\tlabel\n";
    for (int i = 0; i < 60; ++i) {
        for (int word = 0; word < 150 + i % 7; ++word) out << "word" << (i * 7 + word) % 50 << " ";
        out << "\t" << (i % 2 == 0 ? "even" : "odd") << "\n";
    }
    out.close();
    job.options["data"] = (place.path() / "long.tsv").string();
    job.options["tok.max_length"] = std::int64_t{140};
    points::Recorder seen;
    const PeakPrediction prediction = trainer.predict(job, PeakSource::probe, seen);
    CHECK(seen.reports.size() == 2 * 7);  // epochs of short trainings; of four at the full length otherwise
    CHECK(static_cast<double>(prediction.need) == Approx(static_cast<double>(measured(trainer, job))).epsilon(0.001));
    CHECK(prediction.uncertainty == 0.03);

    job.options["tok.max_length"] = std::int64_t{60};
    points::Recorder seen_whole;
    static_cast<void>(trainer.predict(job, PeakSource::probe, seen_whole));
    CHECK(seen_whole.reports.size() == 2 * 4);
}

TEST_CASE("what oneDNN takes of its own for products in bf16 is in the prediction as an upper bound, or left to the probe", "[bf16]") {
    hpo::image_classifier::ImageClassifier images;
    const bool scratch = hpo::libtorch::onednn_has(torch::kBFloat16);
    const auto job_of = [](std::int64_t width, std::int64_t batch) {
        TrainerJob job = image_job("mlp");
        job.plan.precision = hpo::Precision::bf16;
        job.params["optim.kind"] = text("sgd");
        job.params["model.width"] = width;
        job.params["train.batch_size"] = batch;
        job.options["train_examples"] = batch;  // one step: without the processor's own instructions, bf16 is slow
        job.options["epochs"] = std::int64_t{1};
        return job;
    };
    int bounds = 0;
    int left_to_probe = 0;
    for (const auto& [width, batch] : {std::pair{64, 16}, {64, 64}, {512, 64}, {512, 2048}, {2048, 2048}}) {
        CAPTURE(width, batch);
        const auto prediction = compare_or_probe(images, job_of(width, batch), 1e-3);
        left_to_probe += prediction ? 0 : 1;
        if (!prediction || !prediction->upper_bound) continue;
        ++bounds;
        CHECK_THAT(prediction->remark, Catch::Contains("of it is oneDNN's own for a product of 16 bits"));
    }
    CHECK((bounds > 0) == scratch);
    CHECK((left_to_probe > 0) == scratch);
}

TEST_CASE("a prediction says what it knows roughly, and what stands for data that are not there") {
    const TemporaryDirectory place;
    hpo::image_classifier::ImageClassifier images;
    CHECK(predicted(images, image_job("mlp")).uncertainty == 0);
    CHECK(predicted(images, image_job("mlp")).remark.empty());
    CHECK(predicted(images, image_job("cnn")).uncertainty == 0.01);
    CHECK_THAT(predicted(images, image_job("cnn")).remark, Catch::Contains("a convolution's memory is known roughly"));
    TrainerJob half = image_job("mlp");
    half.plan.precision = hpo::Precision::bf16;
    CHECK_THAT(predicted(images, half).remark, Catch::Contains("autocast"));
    hpo::text_classifier::TextClassifier texts;
    TrainerJob job = text_job(place.path());
    CHECK_FALSE(predicted(images, image_job("mlp")).upper_bound);
    job.options.erase("data");
    CHECK_THAT(predicted(texts, job).remark, Catch::Contains("every text is taken to have tok.max_length tokens"));
}
