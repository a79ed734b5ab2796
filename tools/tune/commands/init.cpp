// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "hpo/base/error.hpp"
#include "tune/commands/commands.hpp"

namespace hpo::tune {
namespace {

constexpr const char* first_script = R"lua(-- A study of small image classifiers on Fashion-MNIST.
--
--   hpo-tune check %NAME%.lua     finds mistakes without training
--   hpo-tune space %NAME%.lua     counts the combinations, and how many of them the memory guard shrinks to fit
--   hpo-tune estimate %NAME%.lua  predicts which fit as they are, and which with a smaller micro-batch
--   hpo-tune run %NAME%.lua       runs the study; again: goes on with it
--   hpo-analyze memory            holds what was predicted against what was measured
--   hpo-analyze oom               explains what ran out of memory, if anything did
local hpo = require "hpo"

-- Options can be set from the command line: hpo-tune run %NAME%.lua --set epochs=5
local epochs = hpo.option("epochs", 2, "passes over the training images")

return hpo.study {
  name = "%NAME%",

  -- The trainer is a plugin: `hpo-tune policies trainer` lists them with all they understand.
  trainer = { "image_classifier", epochs = epochs, train_examples = 4000, validation_examples = 2000 },
  objective = { metric = "accuracy", direction = "maximize" },

  -- `hpo-tune policies` lists these with their options: sampler = "tpe:startup_trials=20".
  sampler = "tpe",
  pruner = "median",
  guard = "auto",                  -- where the device's memory is known: predicts what an attempt needs before it starts
  recovery = "shrink_micro_batch", -- out of memory all the same: a smaller micro-batch, the same effective batch

  trials = 30,
  device = "cpu",

  -- What all trials together may hold. Some configurations below need more than twice as much. They are no failures: the guard plans
  -- them with a smaller micro-batch (the run says "batch 512 as 4 x 128"), and trials wait for room. A GPU's memory is known: leave it out.
  device_memory = "64MiB",

  -- What is searched. Ask for parameters in any order, under any condition.
  space = function(trial)
    local kind = trial:categorical("model.kind", { "mlp", "cnn" })
    if kind == "mlp" then
      trial:int("model.width", 64, 512, { step = 64 })
    else
      trial:int("model.channels", 8, 32, { step = 8 })
    end
    trial:categorical("train.batch_size", { 64, 128, 256, 512 }) -- the effective batch
    trial:float("optim.lr", 1e-4, 1e-1, { log = true })
  end,
}
)lua";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
    return text;
}

}  // namespace

void add_init(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("init", "Write a commented first script, NAME.lua");
    auto name = std::make_shared<std::string>("first_study");
    command->add_option("NAME", *name, "name of the study and of the file")->capture_default_str();
    actions.on(command, [name] {
        const std::string stem = std::filesystem::path{*name}.stem().string();
        const bool plain = !stem.empty() && stem.front() != '-' && std::all_of(stem.begin(), stem.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        });
        if (!plain) throw bad_value("init", "'" + *name + "'", "a name of letters, digits, '_', '-' and '.'");
        std::filesystem::path file = *name;
        if (file.extension() != ".lua") file += ".lua";
        if (std::filesystem::exists(file)) {
            throw Error{Errc::usage, file.string() + ": exists already; give another name, or remove it first"};
        }
        std::ofstream out{file};
        out << replaced(first_script, "%NAME%", file.stem().string());
        out.close();
        if (!out) throw Error{Errc::usage, file.string() + ": cannot be written"};
        std::cout << "wrote " << file.string() << "\nnext: hpo-tune check " << file.string() << "\n      hpo-tune run " << file.string()
                  << "\n";
        return 0;
    });
}

}  // namespace hpo::tune
