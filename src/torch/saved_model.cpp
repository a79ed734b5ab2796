// SPDX-License-Identifier: MIT
#include "torch/saved_model.hpp"

#include <torch/torch.h>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "hpo/torch/adaptation/low_rank.hpp"
#include "hpo/torch/load_weights.hpp"
#include "torch/save_weights.hpp"

namespace hpo::libtorch {

void save_model(const Task& task, Model& model, const std::filesystem::path& folder, RunningAttempt& attempt) {
    attempt.enter("save");
    merge_layers(model);
    save_weights(model, folder / weights_file);
    task.save(folder);
}

void empty_folder(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator{folder, ignored}) found.push_back(entry.path());
    for (const std::filesystem::path& each : found) std::filesystem::remove_all(each, ignored);
}

std::shared_ptr<Model> load_model(Task& task, const std::filesystem::path& folder, RunningAttempt& attempt) {
    attempt.enter("build");
    const weights::Weights weights = weights::Weights::open(folder / weights_file);
    std::shared_ptr<Model> model = task.build();
    load_whole(*model, weights);
    model->to(attempt.device());
    model->eval();
    return model;
}

}  // namespace hpo::libtorch
