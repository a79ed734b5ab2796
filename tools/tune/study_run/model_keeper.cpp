// SPDX-License-Identifier: MIT
#include "tune/study_run/model_keeper.hpp"

#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::tune {

ModelKeeper::ModelKeeper(BestModel::Settings settings, const std::function<std::vector<Trial>()>& stored, Note note)
    : best_{std::move(settings), stored}, note_{std::move(note)} {}

std::string ModelKeeper::make(std::int64_t trial) {
    try {
        return best_.make(trial);
    } catch (const Error& error) {
        failed(error.what());
        return {};
    }
}

void ModelKeeper::finished(const Trial& trial) {
    try {
        best_.finished(trial);
    } catch (const Error& error) {
        failed(error.what());
    }
}

KeptModel ModelKeeper::settle(const std::vector<Trial>& trials) {
    KeptModel kept{.folder = best_.folder(), .manifest = std::nullopt, .problem = problem_};
    try {
        best_.settle(trials);
        kept.manifest = best_.kept();
    } catch (const Error& error) {
        kept.problem = error.what();
    }
    return kept;
}

void ModelKeeper::failed(const std::string& why) {
    problem_ = why;
    note_(why);
}

}  // namespace hpo::tune
