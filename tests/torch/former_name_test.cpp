// SPDX-License-Identifier: MIT
// The name hpo::torch and the headers that pages and examples named before headers got rooms are still there, and LibTorch is `torch`
// inside namespace hpo.
#include <torch/torch.h>

#include <memory>
#include <type_traits>

#include "hpo/core/error.hpp"
#include "hpo/text/encoder_config.hpp"
#include "hpo/text/write_model_folder.hpp"
#include "hpo/torch/adapted_linear.hpp"
#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/classification.hpp"
#include "hpo/torch/encoder.hpp"
#include "hpo/torch/evaluation.hpp"
#include "hpo/torch/length_buckets.hpp"
#include "hpo/torch/read_encoder.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/torch/training_plan.hpp"
#include "support/catch.hpp"

static_assert(std::is_same_v<hpo::torch::Task, hpo::libtorch::Task>);
static_assert(std::is_same_v<hpo::torch::TorchTrainer, hpo::libtorch::TorchTrainer>);

namespace hpo::of_a_plugin {

static_assert(std::is_same_v<torch::Tensor, ::torch::Tensor>);
static_assert(std::is_same_v<torch::nn::Linear, ::torch::nn::Linear>);

/// As a plugin of before says it.
struct OldModel final : hpo::torch::Model {
    OldModel() { layer = register_module("layer", hpo::torch::Linear{2, 1}); }
    hpo::torch::Outputs forward(const hpo::torch::Batch& batch) override { return layer(batch.inputs.at(0)); }
    hpo::torch::Linear layer{nullptr};
};

}  // namespace hpo::of_a_plugin

TEST_CASE("a model that says hpo::torch is one of hpo::libtorch") {
    const std::shared_ptr<hpo::libtorch::Model> model = std::make_shared<hpo::of_a_plugin::OldModel>();
    CHECK(model->forward({{::torch::ones({3, 2})}, {}}).only().size(0) == 3);
}
