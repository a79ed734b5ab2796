// SPDX-License-Identifier: MIT
#include "image_classifier/image_classifier.hpp"

#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/device/metered_device.hpp"
#include "hpo/testing/saving_contract.hpp"
#include "hpo/torch/classification.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "weights/write_safetensors.hpp"

using hpo::image_classifier::ImageClassifier;
using hpo::libtorch::MeteredAllocator;
using points::Recorder;

namespace {

/// A small job on the real images: a few hundred of them, one epoch.
hpo::TrainerJob small_job(const std::string& kind) {
    hpo::TrainerJob job;
    job.params = {{"model.kind", kind},
                  {"model.width", std::int64_t{32}},
                  {"model.depth", std::int64_t{kind == "resnet" ? 1 : 2}},
                  {"model.channels", std::int64_t{8}},
                  {"train.batch_size", std::int64_t{32}},
                  {"optim.lr", 0.003}};
    job.options = {{"epochs", std::int64_t{1}},
                   {"threads", std::int64_t{1}},
                   {"train_examples", std::int64_t{96}},
                   {"validation_examples", std::int64_t{64}}};
    job.metric = "accuracy";
    job.plan.effective_batch = 32;
    job.plan.micro_batch = 16;
    job.seed = 5;
    return job;
}

/// What an attempt told, for comparing attempts.
std::vector<double> values_of(ImageClassifier& trainer, const hpo::TrainerJob& job) {
    Recorder recorder;
    const auto outcome = trainer.run(job, recorder);
    CAPTURE(outcome.failure ? outcome.failure->message : "");
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    std::vector<double> values = outcome.values;
    for (const char* name : {"accuracy", "macro_f1", "loss"}) values.push_back(std::stod(outcome.attributes.at(name)));
    return values;
}

}  // namespace

TEST_CASE("after an out-of-memory anywhere in an attempt nothing is held and the next attempt is unaffected") {
    ImageClassifier trainer;
    auto& meter = MeteredAllocator::instance();
    std::vector<std::string> phases;
    for (const std::string kind : {"mlp", "cnn", "resnet"}) {
        CAPTURE(kind);
        for (const bool recompute : {false, true}) {
            auto job = small_job(kind);
            job.options["train_examples"] = std::int64_t{32};
            job.options["validation_examples"] = std::int64_t{16};
            job.plan.activation_checkpointing = recompute;
            const auto undisturbed = values_of(trainer, job);
            const std::int64_t held = meter.allocated_bytes();
            const std::int64_t before = meter.allocations();
            static_cast<void>(values_of(trainer, job));
            const std::int64_t points = meter.allocations() - before;
            REQUIRE(points > 100);

            const std::int64_t stride = std::max<std::int64_t>(1, points / 60) | 1;  // odd: falls on every kind of tensor
            for (std::int64_t point = 1; point <= points; point += stride) {
                Recorder recorder;
                meter.refuse_nth(point);
                const auto outcome = trainer.run(job, recorder);
                meter.refuse_nth(0);
                CAPTURE(point, points);
                REQUIRE(outcome.failure);
                CHECK(outcome.failure->kind == hpo::FailureKind::out_of_memory);
                CHECK(outcome.failure->type == "c10::OutOfMemoryError");
                CHECK(outcome.failure->requested_bytes > 0);
                CHECK_FALSE(outcome.failure->traceback.empty());
                CHECK(outcome.failure->memory.allocated);
                CHECK(meter.allocated_bytes() == held);
                CHECK(recorder.marks.at(recorder.marks.size() - 2).name == "oom");
                CHECK(recorder.marks.back().reading.allocated == held);
                phases.push_back(outcome.failure->where);
            }
            CHECK(values_of(trainer, job) == undisturbed);
            CHECK(meter.allocated_bytes() == held);
        }
    }
    for (const char* phase : {"build", "batch", "forward", "backward", "step", "evaluation"}) {
        CAPTURE(phase);
        CHECK(std::count(phases.begin(), phases.end(), phase) > 0);
    }
}

TEST_CASE("activation checkpointing changes no value and lowers the peak of a deep model") {
    ImageClassifier trainer;
    for (const std::string kind : {"cnn", "resnet"}) {
        CAPTURE(kind);
        auto job = small_job(kind);
        job.params["train.dropout"] = 0.2;
        job.params["model.channels"] = std::int64_t{16};
        job.plan.micro_batch = 32;
        Recorder recorder;
        const auto plain = trainer.run(job, recorder);
        job.plan.activation_checkpointing = true;
        const auto recomputed = trainer.run(job, recorder);
        CHECK(plain.values == recomputed.values);
        CHECK(plain.attributes == recomputed.attributes);
        // The CNN's first segment holds nearly all of its activations: computing it again saves nothing.
        if (kind == "resnet") CHECK(*recomputed.peak_allocated < *plain.peak_allocated);
    }
}

TEST_CASE("a smaller micro-batch lowers the peak and keeps the result") {
    ImageClassifier trainer;
    auto job = small_job("resnet");
    job.plan.micro_batch = 32;
    Recorder recorder;
    const auto whole = trainer.run(job, recorder);
    job.plan.micro_batch = 4;
    const auto parts = trainer.run(job, recorder);
    REQUIRE(whole.kind == hpo::OutcomeKind::complete);
    REQUIRE(parts.kind == hpo::OutcomeKind::complete);
    CHECK(std::stod(whole.attributes.at("loss")) == Approx(std::stod(parts.attributes.at("loss"))).epsilon(1e-4));
    CHECK(*parts.peak_allocated < *whole.peak_allocated / 2);
    CHECK_FALSE(parts.approximate);

    job.options["norm"] = std::string{"batch"};
    CHECK(trainer.run(job, recorder).approximate);
}

TEST_CASE("augmented images train another model, the same one with loader workers, and take no more memory") {
    ImageClassifier trainer;
    const hpo::TrainerJob plain = small_job("cnn");
    hpo::TrainerJob augmented = plain;
    augmented.params["augment.shift"] = std::int64_t{2};
    augmented.params["augment.flip"] = true;
    hpo::TrainerJob with_workers = augmented;
    with_workers.options["loader_workers"] = std::int64_t{2};
    const auto values = values_of(trainer, augmented);
    CHECK(values != values_of(trainer, plain));
    CHECK(values == values_of(trainer, with_workers));
    CHECK(trainer.check(augmented).empty());
    Recorder nobody;
    const hpo::TrainerJob flat = small_job("mlp");
    hpo::TrainerJob augmented_flat = flat;
    augmented_flat.params["augment.flip"] = true;
    const auto predicted = [&](const hpo::TrainerJob& job) { return trainer.predict(job, hpo::PeakSource::dry_run, nobody).need; };
    CHECK(predicted(augmented_flat) == predicted(flat));
}

TEST_CASE("on a device that is too small an attempt fails, and fits with a smaller micro-batch") {
    const auto file = std::filesystem::temp_directory_path() / ("hpo-classifier-test-" + std::to_string(::getpid()));
    ImageClassifier trainer;
    auto job = small_job("cnn");
    Recorder recorder;
    job.plan.micro_batch = 32;
    const std::int64_t whole = *trainer.run(job, recorder).peak_allocated;
    job.plan.micro_batch = 4;
    const std::int64_t parts = *trainer.run(job, recorder).peak_allocated;
    REQUIRE(parts < whole);

    const auto device = hpo::device::MeteredDevice::create(file, (parts + whole) / 2);
    job.metered_device = file;
    job.plan.micro_batch = 32;
    const auto refused = trainer.run(job, recorder);
    REQUIRE(refused.failure);
    CHECK(refused.failure->kind == hpo::FailureKind::out_of_memory);
    CHECK(refused.failure->memory.capacity == (parts + whole) / 2);
    CHECK_THAT(refused.failure->message, Catch::StartsWith("CPU device out of memory. Tried to allocate"));
    CHECK(device.occupancy().used_bytes == 0);
    job.plan.micro_batch = 4;
    CHECK(trainer.run(job, recorder).kind == hpo::OutcomeKind::complete);

    job.plan.cap_bytes = 1;
    const auto capped = trainer.run(job, recorder);
    REQUIRE(capped.failure);
    CHECK(capped.failure->where == "build");
    CHECK(capped.failure->memory.limit == 1);
    job.plan.cap_bytes.reset();
    job.metered_device.clear();
    CHECK(trainer.run(job, recorder).kind == hpo::OutcomeKind::complete);
}

TEST_CASE("the small network learns Fashion-MNIST, and the test images are looked at only when asked") {
    ImageClassifier trainer;
    auto job = small_job("cnn");
    job.options["train_examples"] = std::int64_t{1500};
    job.options["validation_examples"] = std::int64_t{500};
    job.options["epochs"] = std::int64_t{2};
    job.plan.micro_batch = 32;
    Recorder recorder;
    auto outcome = trainer.run(job, recorder);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(outcome.values[0] > 0.65);
    REQUIRE(recorder.reports.size() == 2);
    CHECK(recorder.reports[1].value == outcome.values[0]);
    CHECK(outcome.attributes.count("test_accuracy") == 0);
    CHECK(std::stod(outcome.attributes.at("macro_f1")) > 0.6);

    job.options["report_test"] = true;
    outcome = trainer.run(job, recorder);
    CHECK(std::stod(outcome.attributes.at("test_accuracy")) > 0.6);
    CHECK(outcome.attributes.at("test_examples") == "10000");
}

TEST_CASE("the plugin's list of parameters is what its attempts accept") {
    ImageClassifier trainer;
    const auto info = trainer.info();
    CHECK(info.name == "image_classifier");
    CHECK(info.effective_batch_parameter == "train.batch_size");
    CHECK(info.levers == std::vector<std::string>{"micro_batch", "precision", "activation_checkpointing"});
    CHECK(info.libtorch_version == TORCH_VERSION);
#ifdef HPO_TORCH_CUDA
    CHECK(info.uses_cuda);
#else
    CHECK_FALSE(info.uses_cuda);
#endif
    hpo::TrainerJob defaults;
    CHECK(hpo::Settings::problems(info, defaults).empty());
    CHECK(trainer.check(small_job("mlp")).empty());

    auto job = small_job("cnn");
    job.params["model.kind"] = std::string{"vgg"};
    job.params["model.widht"] = std::int64_t{3};
    job.params["optim.lr"] = -1.0;
    job.options["epochs"] = 2.5;
    const auto problems = trainer.check(job);
    REQUIRE(problems.size() == 4);
    CHECK_THAT(problems[0].what, Catch::Contains("did you mean 'model.width'?"));

    job = small_job("cnn");
    job.options["data"] = std::string{"/nowhere"};
    REQUIRE(trainer.check(job).size() == 1);
    CHECK_THAT(trainer.check(job)[0].what, Catch::Contains("/nowhere: no such folder"));
    job = small_job("cnn");
    job.options["classes"] = std::int64_t{5};
    REQUIRE(trainer.check(job).size() == 1);
    CHECK_THAT(trainer.check(job)[0].what, Catch::Contains("; expected 0 to 4. This batch has labels from 0 to 9"));
}

namespace {

/// Writes a model's parameters under their names.
void save(const torch::nn::Module& model, const std::filesystem::path& file) {
    hpo::weights::TensorMap tensors;
    for (const auto& item : model.named_parameters()) {
        const torch::Tensor& tensor = item.value();
        const auto bytes = std::as_bytes(std::span{tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())});
        tensors.insert({item.key(), {.shape = tensor.sizes().vec(), .bytes = bytes}});
    }
    hpo::weights::write_safetensors(file, tensors);
}

}  // namespace

TEST_CASE("a model begins from a file of weights, with its head or without") {
    const auto file = std::filesystem::temp_directory_path() / ("hpo-classifier-test-" + std::to_string(::getpid()) + ".safetensors");
    const auto model = [](std::int64_t seed, std::int64_t classes) {
        torch::manual_seed(static_cast<std::uint64_t>(seed));
        return hpo::image_classifier::make_model("resnet", {.classes = classes, .depth = 1, .channels = 8});
    };
    const auto saved = model(1, 10);
    save(*saved, file);
    const auto whole = model(2, 10);
    hpo::image_classifier::begin_from(*whole, {.place = file});
    for (const auto& item : whole->named_parameters()) CHECK(torch::equal(item.value(), saved->named_parameters()[item.key()]));
    const auto other_classes = model(2, 3);
    const auto drawn = other_classes->named_parameters()["head.weight"].detach().clone();
    hpo::image_classifier::begin_from(*other_classes, {.place = file, .new_head = true});
    for (const auto& item : other_classes->named_parameters()) {
        const bool head = item.key().starts_with("head.");
        CHECK(torch::equal(item.value(), head ? other_classes->named_parameters()[item.key()] : saved->named_parameters()[item.key()]));
    }
    CHECK(torch::equal(other_classes->named_parameters()["head.weight"], drawn));
    CHECK_THROWS_WITH(hpo::image_classifier::begin_from(*other_classes, {.place = file}),
                      Catch::Contains(file.string()) && Catch::Contains("head.weight") && Catch::Contains("[10, 32]"));

    ImageClassifier trainer;
    auto job = small_job("resnet");
    job.options["weights"] = file.string();
    CHECK(trainer.check(job).empty());
    const auto begun = values_of(trainer, job);
    job.options["new_head"] = true;
    CHECK(values_of(trainer, job) != begun);
    job.params["model.channels"] = std::int64_t{16};
    const auto problems = trainer.check(job);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0].what, Catch::Contains(file.string()) && Catch::Contains("segment0.convolution.weight"));
    std::filesystem::remove(file);
}

TEST_CASE("probes and low-rank additions train what they promise of an image model") {
    ImageClassifier trainer;
    auto job = small_job("cnn");
    constexpr std::int64_t head = 32 * 10 + 10;
    const auto profile_with = [&](const char* tuning) {
        job.params["train.tuning"] = std::string{tuning};
        const auto profile = trainer.profile(job);
        REQUIRE(profile);
        return *profile;
    };
    job.params["lora.rank"] = std::int64_t{2};
    const auto full = profile_with("full");
    const auto probe = profile_with("probe");
    const auto lora = profile_with("lora");
    CHECK(full.trainable_parameters == full.parameters);
    CHECK(probe.trainable_parameters == head);
    CHECK(probe.activation_bytes_per_example < full.activation_bytes_per_example / 10);
    const std::int64_t additions = (2 * 9 + 8 * 2) + (2 * 8 * 9 + 16 * 2) + (2 * 16 * 49 + 32 * 2);
    CHECK(lora.trainable_parameters == additions + head);
    CHECK(lora.parameters == full.parameters + additions);
    CHECK(lora.optimizer_bytes < full.optimizer_bytes / 2);

    for (const std::string kind : {"mlp", "cnn", "resnet"}) {
        for (const std::string tuning : {"probe", "lora"}) {
            CAPTURE(kind, tuning);
            auto tuned = small_job(kind);
            tuned.params["train.tuning"] = tuning;
            tuned.params["train.dropout"] = 0.2;
            const auto plain = values_of(trainer, tuned);
            tuned.plan.activation_checkpointing = true;
            tuned.options["loader_workers"] = std::int64_t{2};
            CHECK(values_of(trainer, tuned) == plain);
            tuned.plan.precision = hpo::Precision::bf16;
            const auto half = values_of(trainer, tuned);
            CHECK(half.back() == Approx(plain.back()).epsilon(0.05));
            tuned.plan.activation_checkpointing = false;
            CHECK(values_of(trainer, tuned) == half);
        }
    }
}

TEST_CASE("balanced class weights count a class's examples as much as another's") {
    const auto weights = hpo::libtorch::balanced_weights({3, 1, 0});
    CHECK(torch::allclose(weights, torch::tensor({4.0F / 9, 4.0F / 3, 0.0F})));
    ImageClassifier trainer;
    auto job = small_job("mlp");
    const auto plain = values_of(trainer, job);
    job.params["train.class_weights"] = std::string{"balanced"};
    CHECK(values_of(trainer, job) != plain);
}

TEST_CASE("an image model is saved with the scale of its pixels, measured again, and goes on from checkpoints") {
    for (const char* const kind : {"cnn", "resnet"}) {
        CAPTURE(kind);
        const hpo::tests::TemporaryDirectory home;
        hpo::TrainerJob job = small_job(kind);
        job.options["epochs"] = std::int64_t{3};
        job.options["checkpoint_seconds"] = 0.0;
        job.options["norm"] = std::string{"batch"};
        job.params["train.dropout"] = 0.2;
        const auto broken = hpo::testing::saving_contract_violations([] { return std::make_unique<ImageClassifier>(); }, job, home.path());
        for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
        CHECK(broken.empty());
        job.saved_model = home.file("model");
        std::filesystem::remove(home.path("model") / "pixel_scale.json");
        Recorder recorder;
        const auto outcome = ImageClassifier{}.evaluate(job, recorder);
        REQUIRE(outcome.failure);
        CHECK(outcome.failure->message.find("model/pixel_scale.json: cannot be read") != std::string::npos);
    }
}
