local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 3 },
  objective = { metric = "value", direction = "minimize" },
  sampler = "tpe", pruner = "median", recovery = "fail", trials = 12, seed = 3,
  space = function(trial)
    trial:float("x", -5, 5)
    trial:float("y", -5, 5)
  end,
}
