-- A study of the trainer parabola_trainer.
--   hpo-tune check parabola_trainer.lua --plugin-dir build/lib/hpo/trainers
--   hpo-tune run   parabola_trainer.lua --plugin-dir build/lib/hpo/trainers
local hpo = require "hpo"

return hpo.study {
  name = "parabola_trainer",
  trainer = { "parabola_trainer", steps = hpo.option("steps", 5, "intermediate values of a trial") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "tpe",
  pruner = "median",
  trials = 20,
  space = function(trial)
    trial:float("x", -10, 10)
  end,
}
