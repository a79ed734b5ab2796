// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/base/error.hpp"
#include "support/installation.hpp"
#include "tune/commands/commands.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

constexpr std::string_view cmake_lists = R"cmake(# A trainer plugin for hpo, in a project of its own:
#
#   cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=%PREFIX%
#   cmake --build build
#   ctest --test-dir build --output-on-failure
#   hpo-tune run %NAME%.lua --plugin-dir build/lib/hpo/trainers
cmake_minimum_required(VERSION 3.25)
project(%NAME% LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(hpo REQUIRED COMPONENTS %COMPONENT%)
hpo_add_trainer(%NAME% SOURCES %NAME%.cpp LIBRARIES hpo::%COMPONENT%)

# The contract of trainers, and the script against the plugin. Nothing is trained for long.
enable_testing()
find_program(HPO_TUNE hpo-tune HINTS ${hpo_BIN_DIR} REQUIRED)
add_test(NAME contract COMMAND ${HPO_TUNE} check-plugin %NAME% --plugin-dir $<TARGET_FILE_DIR:hpo_trainer_%NAME%>)
add_test(NAME script
         COMMAND ${HPO_TUNE} check ${CMAKE_CURRENT_SOURCE_DIR}/%NAME%.lua --plugin-dir $<TARGET_FILE_DIR:hpo_trainer_%NAME%>)
)cmake";

constexpr std::string_view torch_source =
    R"source(// The trainer '%NAME%': a small network that learns a sine. Replace the data, the model and the loss by yours.
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/trainer/declare.hpp"
#include "hpo/trainer/plugin.hpp"

namespace {

using torch::Tensor;
namespace declare = hpo::declare;

/// [examples, 1] -> [examples]: outputs have the shape of the targets.
struct Net final : hpo::libtorch::Model {
    explicit Net(std::int64_t width) {
        hidden = register_module("hidden", hpo::libtorch::Linear{1, width});
        head = register_module("head", hpo::libtorch::Linear{width, 1});
    }
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override { return head(torch::tanh(hidden(batch.inputs[0]))).squeeze(1); }
    hpo::libtorch::Linear hidden{nullptr};
    hpo::libtorch::Linear head{nullptr};
};

/// What a trial needs of data, model and loss. The training loop, its device and its memory are hpo's.
class SineTask final : public hpo::libtorch::Task {
public:
    SineTask(std::int64_t train, std::int64_t held_out, std::int64_t width) : train_{train}, held_out_{held_out}, width_{width} {
        const hpo::libtorch::Unmetered data_set;  // the data lies on the host, so it does not count as device memory
        const auto draws = at::make_generator<at::CPUGeneratorImpl>(/*seed=*/std::uint64_t{1});
        x_ = torch::empty({train + held_out, 1}).uniform_(-1, 1, draws);
        y_ = torch::sin(3 * x_).squeeze(1);
    }
    std::shared_ptr<hpo::libtorch::Model> build() override { return std::make_shared<Net>(width_); }
    std::vector<std::string> layers() const override { return {"hidden", "head"}; }
    std::int64_t training_examples() const override { return train_; }
    hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const Tensor chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        return {{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
    }
    /// The sum over the batch's examples, not their mean.
    Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        return (outputs - batch.targets).pow(2).sum();
    }
    /// Every metric that describe() names, on examples that are not trained on.
    hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        double sum = 0;
        for (std::int64_t at = train_; at < x_.size(0); at += plan.batch_examples) {
            const std::int64_t end = std::min(at + plan.batch_examples, x_.size(0));
            const hpo::libtorch::Batch batch{{x_.slice(0, at, end).to(plan.device)}, y_.slice(0, at, end).to(plan.device)};
            sum += loss_sum(model.forward(batch).in_fp32(), batch).item<double>();
        }
        return {{"error", sum / static_cast<double>(held_out_)}};
    }
    /// What the trial keeps besides its metrics.
    void finish(hpo::libtorch::Model&, const hpo::libtorch::EvaluationPlan&, hpo::Attributes& attributes) const override {
        attributes.set_text("data_hash", "sine of " + std::to_string(x_.size(0)));
        attributes.set_number("validation_examples", held_out_);
    }

private:
    std::int64_t train_;
    std::int64_t held_out_;
    std::int64_t width_;
    Tensor x_;  ///< [examples, 1]
    Tensor y_;  ///< [examples]
};

class SineTrainer final : public hpo::libtorch::TorchTrainer {
    hpo::TrainerInfo describe() const override {
        return {
            .name = "%NAME%",
            .summary = "a small network that learns a sine",
            .parameters = {declare::integer("model.width", 1, 65536, {.standard = 32, .help = "hidden units"}),
                           declare::integer("train_examples", 1, 1000000, {.standard = 512, .help = "examples to train on"}),
                           declare::integer("validation_examples", 1, 1000000, {.standard = 256, .help = "examples held out"})},
            .metrics = {{"error", hpo::Direction::minimize, "mean squared error on examples held out"}}};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob&) override {
        return std::make_unique<SineTask>(settings.whole("train_examples"), settings.whole("validation_examples"),
                                          settings.whole("model.width"));
    }
};

}  // namespace

HPO_TRAINER_PLUGIN(SineTrainer);
)source";

constexpr std::string_view plain_source =
    R"source(// The trainer '%NAME%', without LibTorch: (x - 1)^2 in a few steps. Replace `run` by your training.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/declare.hpp"
#include "hpo/trainer/plugin.hpp"
#include "hpo/trainer/settings.hpp"

namespace {

namespace declare = hpo::declare;

class PlainTrainer final : public hpo::Trainer {
public:
    hpo::TrainerInfo info() const override {
        return {.name = "%NAME%",
                .summary = "(x - 1)^2, approached step by step",
                .parameters = {declare::real("x", -10, 10, {.standard = 0.0, .help = "where the parabola is measured"}),
                               declare::integer("steps", 1, 1000, {.standard = 5, .help = "intermediate values"})},
                .metrics = {{"value", hpo::Direction::minimize, "(x - 1)^2"}}};
    }
    hpo::AttemptOutcome run(const hpo::TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};  // refuses what info() does not allow
        const double distance = settings.number("x") - 1;
        const std::int64_t steps = settings.whole("steps");
        progress.last_step(steps);  // a trial that has come so far is not pruned any more
        hpo::AttemptOutcome outcome;
        outcome.kind = hpo::OutcomeKind::stopped;
        for (std::int64_t step = 1; step <= steps; ++step) {
            if (progress.stop_requested()) return outcome;
            const double value = distance * distance + 1.0 / static_cast<double>(step);
            if (!progress.report(step, value)) return outcome;  // a pruner, or somebody who stops the study
        }
        outcome.kind = hpo::OutcomeKind::complete;
        outcome.values = {distance * distance};
        outcome.attributes.set_number("steps_made", steps);
        return outcome;
    }
    std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob& job) override { return hpo::Settings::problems(info(), job); }
};

}  // namespace

HPO_TRAINER_PLUGIN(PlainTrainer);
)source";

constexpr std::string_view torch_script = R"lua(-- A study of the trainer %NAME%.
--   hpo-tune check %NAME%.lua --plugin-dir build/lib/hpo/trainers
--   hpo-tune run   %NAME%.lua --plugin-dir build/lib/hpo/trainers
local hpo = require "hpo"

return hpo.study {
  name = "%NAME%",
  trainer = { "%NAME%", epochs = hpo.option("epochs", 5, "passes over the training examples") },
  objective = { metric = "error", direction = "minimize" },
  sampler = "tpe",
  pruner = "median",
  recovery = "shrink_micro_batch",
  trials = 20,
  device = "cpu",
  space = function(trial)
    trial:int("model.width", 4, 128, { log = true })
    trial:categorical("train.batch_size", { 16, 32, 64 })
    trial:float("optim.lr", 1e-4, 1e-1, { log = true })
  end,
}
)lua";

constexpr std::string_view plain_script = R"lua(-- A study of the trainer %NAME%.
--   hpo-tune check %NAME%.lua --plugin-dir build/lib/hpo/trainers
--   hpo-tune run   %NAME%.lua --plugin-dir build/lib/hpo/trainers
local hpo = require "hpo"

return hpo.study {
  name = "%NAME%",
  trainer = { "%NAME%", steps = hpo.option("steps", 5, "intermediate values of a trial") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "tpe",
  pruner = "median",
  trials = 20,
  space = function(trial)
    trial:float("x", -10, 10)
  end,
}
)lua";

struct PluginFields {
    std::string name;
    std::string component;  ///< of hpo's package, and the target hpo::COMPONENT
    std::string prefix;     ///< where hpo is installed
};

std::string filled(std::string_view text, const PluginFields& fields) {
    const std::array<std::pair<std::string_view, std::string_view>, 3> marks{
        {{"%NAME%", fields.name}, {"%COMPONENT%", fields.component}, {"%PREFIX%", fields.prefix}}};
    std::string result{text};
    for (const auto& [mark, with] : marks) {
        for (auto at = result.find(mark); at != std::string::npos; at = result.find(mark, at + with.size()))
            result.replace(at, mark.size(), with);
    }
    return result;
}

bool is_plugin_name(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !name.empty() && name.size() <= 64 && letter(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

constexpr const char* where_it_is = "WHERE_HPO_IS_INSTALLED";

/// Where the package is that this program belongs to. For a program of a build tree: a word that the reader replaces.
std::string installed_prefix() {
    const auto prefix = tools::installation();
    for (const char* folder : {"lib", HPO_LIBDIR}) {
        if (std::filesystem::exists(prefix / folder / "cmake/hpo/hpoConfig.cmake")) return shell_quoted(prefix.string());
    }
    return where_it_is;
}

void write_plugin_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out{file};
    out << text;
    out.close();
    if (!out) throw Error{Errc::usage, file.string() + ": cannot be written"};
    std::cout << "wrote " << file.string() << "\n";
}

int new_plugin(const std::string& given, bool plain) {
    const std::filesystem::path folder{given};
    const std::string name = folder.filename().string();
    if (!is_plugin_name(name))
        throw bad_value("new-plugin", "'" + given + "'", "a name of letters, digits and '_' that begins with a letter, at most 64");
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder, failed)))
        throw Error{Errc::usage, given + ": exists already; give another name, or remove it first"};
    if (!std::filesystem::create_directory(folder, failed))
        throw Error{Errc::usage, given + ": the folder cannot be made: " + failed.message()};
    const PluginFields fields{.name = name, .component = plain ? "plugin" : "torch", .prefix = installed_prefix()};
    write_plugin_file(folder / "CMakeLists.txt", filled(cmake_lists, fields));
    write_plugin_file(folder / (name + ".cpp"), filled(plain ? plain_source : torch_source, fields));
    write_plugin_file(folder / (name + ".lua"), filled(plain ? plain_script : torch_script, fields));
    std::cout << "next: cd " << shell_quoted(given) << "\n"
              << "      cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" << fields.prefix << "\n"
              << "      cmake --build build\n"
              << "      ctest --test-dir build --output-on-failure\n"
              << "      hpo-tune run " << name << ".lua --plugin-dir build/lib/hpo/trainers\n";
    if (fields.prefix == where_it_is)
        std::cout << "note: " << tools::installation().string() << " has no headers of hpo, as a wheel and a build tree have none; for "
                  << where_it_is << ", install hpo from its sources: cmake --install BUILD --prefix PREFIX\n";
    return 0;
}

}  // namespace

void add_new_plugin(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("new-plugin", "Write a project of a trainer plugin that builds, with a study and a test");
    auto name = std::make_shared<std::string>();
    auto plain = std::make_shared<bool>(false);
    command->add_option("NAME", *name, "name of the trainer, or a path to its new folder that ends in the name")->required();
    command->add_flag("--plain", *plain, "a trainer without LibTorch");
    command->footer("Nothing is overwritten. The project needs an installed hpo: cmake --install BUILD --prefix PREFIX.\n" +
                    std::string{exit_codes});
    actions.on(command, [name, plain] { return new_plugin(*name, *plain); });
}

}  // namespace hpo::tune
