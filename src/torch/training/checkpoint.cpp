// SPDX-License-Identifier: MIT
#include "hpo/torch/training/checkpoint.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/trainer/json_codec.hpp"

namespace hpo::libtorch {

void Checkpoints::resume(TrainingState& state) const {
    if (!plan_.resume_step) return;
    const std::filesystem::path from = path_of(*plan_.resume_step);
    try {
        read(from, state);
    } catch (const c10::OutOfMemoryError&) {  // the file is not at fault
        throw;
    } catch (const c10::Error& error) {
        throw Error{Errc::bad_value, from.string() + ": " + error.what_without_backtrace()};
    }
    if (state.report != *plan_.resume_step)
        throw bad_value(from.string(), "step " + std::to_string(state.report), std::to_string(*plan_.resume_step));
}

void Checkpoints::write(TrainingState& state) {
    const std::filesystem::path folder = path_of(state.report);
    std::filesystem::path part = folder;
    part += ".part";
    try {
        std::filesystem::remove_all(part);
        std::filesystem::create_directory(part);
        write(part, state);
        std::filesystem::remove_all(folder);  // an earlier attempt may have come this far
        std::filesystem::rename(part, folder);
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error{Errc::store, folder.string() + ": cannot be written: " + error.code().message()};
    }
    remove_all_but(state.report, std::exchange(latest_, state.report));
    written_ = Clock::now();
}

void Checkpoints::remove_all_but(std::int64_t step, std::optional<std::int64_t> before) const {
    std::error_code ignored;  // a folder that cannot be removed only takes space
    std::vector<std::filesystem::path> old;
    for (const auto& entry : std::filesystem::directory_iterator{plan_.folder, ignored}) {
        const bool kept = entry.path() == path_of(step) || (before && entry.path() == path_of(*before));
        if (!kept && entry.path().filename().string().starts_with("step-")) old.push_back(entry.path());
    }
    for (const std::filesystem::path& each : old) std::filesystem::remove_all(each, ignored);
}

void Checkpoints::save(torch::serialize::OutputArchive& archive, const std::filesystem::path& file) {
    std::ofstream out{file, std::ios::binary};
    archive.save_to([&](const void* data, std::size_t bytes) {
        out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
        return bytes;
    });
    if (!out.flush()) throw Error{Errc::store, file.string() + ": cannot be written"};
}

void Checkpoints::write(const std::filesystem::path& folder, TrainingState& state) {
    const Unmetered outside;
    torch::serialize::OutputArchive training;
    std::int64_t number = 0;
    for (const torch::Tensor& tensor : changing_tensors(*state.model)) training.write(tensor_name(number++), tensor.to(torch::kCPU));
    torch::serialize::OutputArchive optimizer;
    state.optimizer.get().save(optimizer);
    training.write("optimizer", optimizer);
    save(training, folder / "training.pt");
    if (!state.best.weights.empty()) {
        torch::serialize::OutputArchive best;
        for (std::size_t i = 0; i < state.best.weights.size(); ++i)
            best.write(tensor_name(static_cast<std::int64_t>(i)), state.best.weights[i]);
        save(best, folder / "best.pt");
    }
    const LossScale::State scale = state.loss_scale.state();
    const CheckpointCounters counters{.report = state.report,
                                      .step = state.step,
                                      .metrics = state.metrics,
                                      .best_report = state.best.step,
                                      .best_value = state.best.value,
                                      .best_metrics = state.best.metrics,
                                      .loss_scale = scale.factor,
                                      .good_steps = scale.good_steps};
    const std::string file = (folder / "counters.json").string();
    std::ofstream out{file};
    out << record_line(counters) << "\n";
    if (!out.flush()) throw Error{Errc::store, file + ": cannot be written"};
}

void Checkpoints::read(const std::filesystem::path& folder, TrainingState& state) {
    const std::string file = (folder / "counters.json").string();
    std::ifstream in{file};
    if (!in) throw Error{Errc::bad_value, file + ": cannot be read; expected the checkpoint that the attempt goes on from"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    auto counters = read_record<CheckpointCounters>(text, file);
    const torch::NoGradGuard no_gradients;
    {
        std::vector<torch::Tensor> tensors = changing_tensors(*state.model);
        torch::serialize::InputArchive training;
        training.load_from((folder / "training.pt").string(),
                           tensors.at(0).device());  // the device on which the optimizer's state must lie
        std::int64_t number = 0;
        for (torch::Tensor& tensor : tensors) {
            const Unmetered outside;
            torch::Tensor stored;
            training.read(tensor_name(number++), stored);
            tensor.copy_(stored);
        }
        torch::serialize::InputArchive optimizer;
        training.read("optimizer", optimizer);
        state.optimizer.get().load(optimizer);
    }
    if (counters.best_report > 0) {
        const Unmetered outside;
        torch::serialize::InputArchive best;
        best.load_from((folder / "best.pt").string(), torch::kCPU);
        state.best.weights.resize(changing_tensors(*state.model).size());
        std::int64_t number = 0;
        for (torch::Tensor& tensor : state.best.weights) best.read(tensor_name(number++), tensor);
    }
    state.report = counters.report;
    state.step = counters.step;
    state.metrics = std::move(counters.metrics);
    state.best.step = counters.best_report;
    state.best.value = counters.best_value;
    state.best.metrics = std::move(counters.best_metrics);
    state.loss_scale.restore({counters.loss_scale, counters.good_steps});
}

}  // namespace hpo::libtorch
