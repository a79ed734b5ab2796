// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo::test {

/// A study of one trial that tells eight epochs, keeps a checkpoint after each, and saves its model: what tests interrupt. `members` are
/// further ones of the study, such as a rule.
[[nodiscard]] inline std::string images_study(const std::string& members = {}) {
    return R"(
local hpo = require "hpo"
return hpo.study {
  name = "images",
  trainer = { "image_classifier", epochs = 8, train_examples = 400, validation_examples = 200, checkpoint_seconds = 0, threads = 1 },
  objective = { metric = "accuracy", direction = "maximize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 1, workers = 1, save_best = "model",
  fix = { ["optim.lr"] = 0.003, ["train.batch_size"] = 32, ["train.dropout"] = 0.3 },
  space = function(trial)
    trial:float("optim.lr", 1e-4, 1e-2, { log = true })
    trial:float("train.dropout", 0, 0.5)
    trial:categorical("train.batch_size", { 32 })
  end,
)" + members +
           "}\n";
}

}  // namespace hpo::test
