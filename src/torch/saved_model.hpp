// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::libtorch {

/// The file in a saved model's folder that holds the weights.
inline constexpr const char* weights_file = "model.safetensors";

/// Writes a finished model: its weights, with low-rank additions folded in, and the files that the task adds. The model computes the same
/// afterwards, within rounding.
void save_model(const Task& task, Model& model, const std::filesystem::path& folder, RunningAttempt& attempt);

/// Removes the contents of a folder. What cannot be removed stays.
void empty_folder(const std::filesystem::path& folder);

/// Reads a saved model from its folder onto the attempt's device, for evaluation. Throws Error with file and tensor.
[[nodiscard]] std::shared_ptr<Model> load_model(Task& task, const std::filesystem::path& folder, RunningAttempt& attempt);

}  // namespace hpo::libtorch
