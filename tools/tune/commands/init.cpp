// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "hpo/base/error.hpp"
#include "support/installation.hpp"
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
  sampler = "auto",
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

// For an installation without the trainers of LibTorch. It runs where Python is, and needs no other package.
constexpr const char* first_command_script = R"lua(-- A study of a program: each attempt of a trial starts it anew, and measures its memory.
--
--   hpo-tune check %NAME%.lua     finds mistakes without running a trial
--   hpo-tune run %NAME%.lua       runs the study; again: goes on with it
--   hpo-analyze memory            shows what each trial took
--   hpo-analyze oom               explains what ran out of memory, if anything did
--
-- A Python program that calls study.optimize of Optuna needs no script: hpo-tune run -- python train.py
local hpo = require "hpo"

return hpo.study {
  name = "%NAME%",

  -- The program, with a place for each parameter that it takes. Put your own here: { "python3", "train.py", "--lr", "{lr}", ... }.
  -- It tells its value on a line of standard output: @hpo {"value": 0.5}. It may report on the way: @hpo {"step": 1, "value": 0.7}.
  trainer = hpo.command { "python3", "-c", [[
import sys
rate, width = float(sys.argv[1]), int(sys.argv[2])
network = bytearray(width << 20)                  # so many MiB
loss = 1.0
for epoch in range(1, 6):
    loss *= 0.5 + abs(rate - 0.01) * 10 / width ** 0.5
    print('@hpo {"step": %d, "value": %g}' % (epoch, loss), flush=True)
print('@hpo {"value": %g}' % loss, flush=True)
]], "{lr}", "{width}" },
  objective = { metric = "loss", direction = "minimize" },

  -- `hpo-tune policies` lists these with their options: sampler = "tpe:startup_trials=20".
  sampler = "auto",
  pruner = "median",

  trials = 20,
  device = "cpu",

  -- What all trials together may hold. Some configurations below need more, and are refused before launch once hpo has learned what trials
  -- take. A GPU's memory is known: leave it out.
  device_memory = "192MiB",

  -- What is searched. Ask for parameters in any order, under any condition.
  space = function(trial)
    trial:float("lr", 1e-4, 1e-1, { log = true })
    trial:int("width", 8, 256, { step = 8 })
  end,
}
)lua";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
    return text;
}

}  // namespace

void add_init(tools::CommandLine& line) {
    auto* command = line.add("init", "Write a commented first script, NAME.lua");
    auto name = std::make_shared<std::string>("first_study");
    command->add_option("NAME", *name, "name of the study and of the file")->capture_default_str();
    line.on(command, [name] {
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
        const bool has_torch_trainer = tools::has_trainer("image_classifier");
        std::ofstream out{file};
        out << replaced(has_torch_trainer ? first_script : first_command_script, "%NAME%", file.stem().string());
        out.close();
        if (!out) throw Error{Errc::usage, file.string() + ": cannot be written"};
        std::cout << "wrote " << file.string() << "\nnext: hpo-tune check " << file.string() << "\n      hpo-tune run " << file.string()
                  << "\n";
        if (!has_torch_trainer)
            std::cout << "a Python program that calls study.optimize of Optuna needs no script: hpo-tune run -- python train.py\n";
        return 0;
    });
}

}  // namespace hpo::tune
