// SPDX-License-Identifier: MIT
#include <limits>
#include <string>
#include <vector>

#include "hpo/torch/training/batch_checks.hpp"
#include "support/catch.hpp"
#include "torch/checks/data_scan.hpp"

namespace {

using torch::Tensor;

/// Rows of two numbers with a label each, for training and held out.
class Rows final : public hpo::libtorch::Task {
public:
    struct Part {
        std::vector<std::vector<float>> inputs;
        std::vector<std::int64_t> labels;
    };
    Part training;
    Part held_out;
    std::int64_t class_count = 3;
    bool padded = false;  ///< a batch is as wide as its longest row, so that the row of an example depends on the batch

    std::shared_ptr<hpo::libtorch::Model> build() override { return nullptr; }
    std::int64_t training_examples() const override { return static_cast<std::int64_t>(training.labels.size()); }
    std::int64_t held_out_examples() const override { return static_cast<std::int64_t>(held_out.labels.size()); }
    hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device) const override {
        return batch(training, examples);
    }
    hpo::libtorch::Batch held_out_batch(std::span<const std::int64_t> examples, torch::Device) const override {
        return batch(held_out, examples);
    }
    bool batches_alike() const override { return !padded; }
    std::optional<std::int64_t> classes() const override { return class_count; }
    Tensor loss_sum(const hpo::libtorch::Outputs&, const hpo::libtorch::Batch&) const override { return {}; }
    hpo::libtorch::Metrics evaluate(hpo::libtorch::Model&, const hpo::libtorch::EvaluationPlan&) const override { return {}; }

private:
    [[nodiscard]] hpo::libtorch::Batch batch(const Part& part, std::span<const std::int64_t> examples) const {
        std::size_t width = 0;
        for (const std::int64_t each : examples) width = std::max(width, part.inputs[static_cast<std::size_t>(each)].size());
        std::vector<float> numbers;
        std::vector<std::int64_t> labels;
        for (const std::int64_t each : examples) {
            std::vector<float> row = part.inputs[static_cast<std::size_t>(each)];
            row.resize(width);
            numbers.insert(numbers.end(), row.begin(), row.end());
            labels.push_back(part.labels[static_cast<std::size_t>(each)]);
        }
        const auto count = static_cast<std::int64_t>(examples.size());
        return {{torch::tensor(numbers).reshape({count, static_cast<std::int64_t>(width)})}, torch::tensor(labels, torch::kLong)};
    }
};

std::vector<std::string> lines_of(const Rows& rows) {
    return hpo::libtorch::DataScan{rows, [] { return false; }}.read();
}

/// Sixty different training rows of the three classes, and two others held out.
Rows good_rows() {
    Rows rows;
    for (int i = 0; i < 60; ++i) {
        rows.training.inputs.push_back({static_cast<float>(i), 1});
        rows.training.labels.push_back(i % 3);
    }
    rows.held_out = {{{100, 1}, {101, 1}, {102, 1}}, {0, 1, 2}};
    return rows;
}

}  // namespace

TEST_CASE("good data are told in two lines") {
    const std::vector<std::string> lines = lines_of(good_rows());
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] ==
          "looked at 60 training examples: labels are in 0 to 2, 20 to 20 examples a class, inputs are finite; none repeats another");
    CHECK(lines[1] ==
          "looked at 3 held-out examples: labels are in 0 to 2, 1 to 1 examples a class, inputs are finite; none is trained on");
}

TEST_CASE("held-out examples that are trained on are counted, and the first is named") {
    for (const bool padded : {false, true}) {
        CAPTURE(padded);
        Rows rows = good_rows();
        rows.padded = padded;
        rows.held_out.inputs[1] = {7, 1};  // training example 7 has label 1, as this one
        rows.held_out.inputs[2] = {9, 1};  // training example 9 has label 0, and this one 2
        if (padded) rows.training.inputs[30] = {30, 1, 5, 6};
        const std::vector<std::string> lines = lines_of(rows);
        REQUIRE(lines.size() == 2);
        CHECK_THAT(lines[1],
                   Catch::EndsWith("; 2 are trained on, too, 1 with another label (held-out example 2 is training example 9, with "
                                   "label 2 and not 0)"));
    }
}

TEST_CASE("training examples that repeat an earlier one are counted") {
    Rows rows = good_rows();
    rows.training.inputs[10] = rows.training.inputs[4];
    const std::vector<std::string> lines = lines_of(rows);
    CHECK_THAT(lines[0], Catch::EndsWith("; 1 repeat an earlier one (training example 10 is training example 4)"));
}

TEST_CASE("classes without examples and with few of them are named") {
    Rows rows = good_rows();
    rows.class_count = 4;
    for (std::int64_t& label : rows.training.labels) label = 0;
    rows.training.labels[3] = 2;
    rows.training.labels[0] = 1;
    rows.training.labels[1] = 1;
    rows.training.labels[2] = 1;
    // An even share is 15, and a class with one example of 60 has more than a twentieth of it.
    std::vector<std::string> lines = lines_of(rows);
    REQUIRE(lines.size() == 4);
    CHECK(lines[1] == "1 of 4 classes have no training examples: 3");
    CHECK(lines[3] == "1 of 4 classes have no held-out examples: 3");
    for (int i = 0; i < 40; ++i) {  // now it has less
        rows.training.inputs.push_back({static_cast<float>(1000 + i), 1});
        rows.training.labels.push_back(0);
    }
    lines = lines_of(rows);
    REQUIRE(lines.size() == 5);
    CHECK(lines[2] == "1 of 4 classes have few training examples: 2 (1)");
}

TEST_CASE("a held-out label outside the classes and an input that is not finite are refused with their place") {
    Rows rows = good_rows();
    rows.held_out.labels[1] = 3;
    CHECK_THROWS_WITH(lines_of(rows), Catch::Contains("label 3 in row 1 of batch 1 of the held-out data (example 1); expected 0 to 2"));
    rows = good_rows();
    rows.training.inputs[5][1] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(lines_of(rows), hpo::libtorch::BadBatch);
}

TEST_CASE("a task that does not give its held-out examples is looked at for less, and that is said") {
    Rows rows = good_rows();
    rows.held_out = {};
    CHECK(lines_of(rows).back() == "not looked at: the held-out examples one by one, because the trainer does not give them");
}
