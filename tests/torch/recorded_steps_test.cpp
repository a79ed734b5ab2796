// SPDX-License-Identifier: MIT
// What a dry run need not record: a third step and a third epoch are what repeating the second one says.
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allocator/trace_repetition.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/torch/training/loop.hpp"
#include "image_classifier/image_task.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "text_classifier/stand_in_texts.hpp"
#include "text_classifier/text_task.hpp"
#include "torch/meta/cuda.hpp"
#include "torch/meta/device.hpp"
#include "torch/meta/host.hpp"
#include "torch/prediction/dry_run.hpp"

using hpo::allocator::AllocationTrace;
using hpo::libtorch::MetaTarget;
using hpo::libtorch::ShortTask;
using hpo::libtorch::Task;
using hpo::libtorch::TrainingPlan;

namespace {

/// What more than a dry run is recorded.
struct More {
    std::int64_t steps = 0;  ///< whole ones in each epoch
    std::int64_t epochs = 0;
};

/// A short task with more examples than it chose.
class LongerTask final : public Task {
public:
    LongerTask(ShortTask task, std::int64_t more_examples) : task_{std::move(task)}, more_examples_{more_examples} {}
    std::shared_ptr<hpo::libtorch::Model> build() override { return task_.build(); }
    [[nodiscard]] std::int64_t training_examples() const override { return task_.training_examples() + more_examples_; }
    [[nodiscard]] hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return task_.training_batch(examples, device);
    }
    [[nodiscard]] torch::Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        return task_.loss_sum(outputs, batch);
    }
    [[nodiscard]] hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        return task_.evaluate(model, plan);
    }
    [[nodiscard]] std::optional<std::int64_t> classes() const override { return task_.classes(); }
    [[nodiscard]] std::vector<std::string> layers() const override { return task_.layers(); }
    void finish(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan, hpo::Attributes& attributes) const override {
        task_.finish(model, plan, attributes);
    }

private:
    ShortTask task_;
    std::int64_t more_examples_;
};

/// A dry run of that much more than dry_run records.
AllocationTrace recorded(Task& whole, const TrainingPlan& plan, MetaTarget target, More more) {
    const hpo::libtorch::MetaDevice device{target};
    std::optional<hpo::libtorch::MetaCuda> cuda;
    std::optional<hpo::libtorch::MetaHost> host;
    if (target == MetaTarget::cuda) cuda.emplace();
    else host.emplace();
    points::Recorder nobody;
    const hpo::libtorch::AttemptSettings settings{.device = torch::Device{torch::kMeta}};
    hpo::libtorch::RunningAttempt attempt{settings, nobody};
    ShortTask shortened{whole, plan, attempt.device()};
    TrainingPlan longer = shortened.plan();
    longer.epochs += more.epochs;
    const std::int64_t more_examples = more.steps * longer.effective_batch;
    LongerTask task{std::move(shortened), more_examples};
    hpo::libtorch::Recording recording{target == MetaTarget::cpu ? hpo::libtorch::Recorded::device_and_host
                                                                 : hpo::libtorch::Recorded::device};
    REQUIRE(hpo::libtorch::train(task, longer, hpo::Seed{1}, attempt).kind == hpo::OutcomeKind::complete);
    return recording.finish();
}

/// What is taken (above 0) and given back (below) in each phase, in bytes. What is given back at one go comes in the order of its size.
struct Told {
    std::vector<std::string> phases;
    std::vector<std::int64_t> bytes;
    friend bool operator==(const Told&, const Told&) = default;
};
Told told(const AllocationTrace& trace) {
    Told result;
    for (const auto& phase : trace.phases) result.phases.push_back(phase.name + " from " + std::to_string(phase.first_event));
    for (const std::int64_t event : trace.events) {
        const auto block = static_cast<std::size_t>(event >= 0 ? event : -1 - event);
        result.bytes.push_back(event >= 0 ? trace.blocks[block].bytes : -trace.blocks[block].bytes);
    }
    for (auto begin = result.bytes.begin(); begin != result.bytes.end();) {
        const auto end = std::find_if(begin, result.bytes.end(), [](std::int64_t bytes) { return bytes > 0; });
        std::sort(begin, end);
        begin = std::find_if(end, result.bytes.end(), [](std::int64_t bytes) { return bytes < 0; });
    }
    return result;
}

/// Of 31 examples a step of 12 in micro-batches of 5, 5 and 2; the last step of an epoch is one of 7.
TrainingPlan accumulated(std::int64_t epochs) {
    TrainingPlan plan;
    plan.epochs = epochs;
    plan.effective_batch = plan.batch = 12;
    plan.micro_batch = plan.evaluation_batch = 5;
    plan.metric = "accuracy";
    return plan;
}

void hold_a_third_against_the_second(Task& task) {
    for (const MetaTarget target : {MetaTarget::cpu, MetaTarget::cuda}) {
        CAPTURE(target == MetaTarget::cpu);
        const auto peak = [](const AllocationTrace& trace) { return hpo::allocator::requested_peak(trace).bytes; };
        {
            const AllocationTrace two = recorded(task, accumulated(1), target, {});
            const auto steps = hpo::allocator::steps_of(two).steps;
            REQUIRE(steps.size() == 3);  // two whole ones and the short one
            const AllocationTrace three = recorded(task, accumulated(1), target, {.steps = 1});
            REQUIRE(hpo::allocator::steps_of(three).steps.size() == 4);
            const auto repeated = hpo::allocator::repeated(two, steps.at(1), 1);
            REQUIRE(repeated);
            CHECK(told(three) == told(*repeated));
            CHECK(peak(three) == peak(two));
            CHECK_FALSE(hpo::allocator::repeated(two, steps.at(0), 1));  // it makes what the optimizer keeps, so one would not do
        }
        {
            const AllocationTrace two = recorded(task, accumulated(2), target, {});
            const auto found = hpo::allocator::steps_of(two);
            REQUIRE(found.epochs == std::vector<std::size_t>{0, 2});
            const AllocationTrace three = recorded(task, accumulated(2), target, {.epochs = 1});
            const auto repeated = hpo::allocator::repeated(two, {found.steps.at(0).last, found.steps.at(2).last}, 1);
            REQUIRE(repeated);
            CHECK(told(three) == told(*repeated));
            CHECK(peak(three) == peak(two));
            CHECK(peak(recorded(task, accumulated(2), target, {.steps = 2})) == peak(two));
        }
    }
}

}  // namespace

TEST_CASE("a third step and a third epoch of linear layers take what the second ones took") {
    hpo::image_classifier::ImageSet set;
    set.count = 40;
    set.height = set.width = 8;
    set.pixels.resize(40 * 8 * 8);
    set.labels.resize(40);
    hpo::image_classifier::PreparedImages images;
    images.set = std::make_shared<const hpo::image_classifier::ImageSet>(std::move(set));
    images.split.train.resize(31);
    std::iota(images.split.train.begin(), images.split.train.end(), std::int64_t{0});
    images.split.validation = {31, 32, 33};
    hpo::image_classifier::ImageTask::Options options;
    options.kind = "mlp";
    options.shape = {.height = 8, .width = 8, .dropout = 0.1};
    hpo::image_classifier::ImageTask task{std::make_shared<const hpo::image_classifier::PreparedImages>(std::move(images)),
                                          std::move(options)};
    hold_a_third_against_the_second(task);
}

TEST_CASE("a third step and a third epoch of an encoder take what the second ones took") {
    constexpr std::size_t length = 16;
    hpo::text_classifier::PreparedTexts texts{.tokenizer = hpo::text::WordCounts{}.tokenizer(8),
                                              .labels = {{"even", "odd"}, "texts"},
                                              .train = hpo::text_classifier::full_texts(31, length),
                                              .validation = hpo::text_classifier::full_texts(3, length),
                                              .test = {},
                                              .class_counts = {31, 0}};
    hpo::text_classifier::TextTask::Options options;
    options.encoder = {.vocabulary = 50, .hidden = 32, .layers = 2, .heads = 2, .intermediate = 64, .positions = length};
    hpo::text_classifier::TextTask task{std::make_shared<const hpo::text_classifier::PreparedTexts>(std::move(texts)), std::move(options)};
    hold_a_third_against_the_second(task);
}
