-- A study of the trainer sine_trainer.
--   hpo-tune check sine_trainer.lua --plugin-dir build/lib/hpo/trainers
--   hpo-tune run   sine_trainer.lua --plugin-dir build/lib/hpo/trainers
local hpo = require "hpo"

return hpo.study {
  name = "sine_trainer",
  trainer = { "sine_trainer", epochs = hpo.option("epochs", 5, "passes over the training examples") },
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
