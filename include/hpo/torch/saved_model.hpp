// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::torch {

/// The file of a saved model's weights within its folder.
inline constexpr const char* weights_file = "model.safetensors";

/// Writes a finished model: its weights, additions of low rank folded in, and what the task adds. The model is the same afterwards within
/// rounding.
void save_model(const Task& task, Model& model, const std::filesystem::path& folder, RunningAttempt& attempt);

/// Removes what lies in a folder, as far as that can be done.
void empty_folder(const std::filesystem::path& folder);

/// The model of a folder, on the attempt's device, for evaluation. Throws Error naming file and tensor.
[[nodiscard]] std::shared_ptr<Model> load_model(Task& task, const std::filesystem::path& folder, RunningAttempt& attempt);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/saved_model_inl.hpp"
#endif
