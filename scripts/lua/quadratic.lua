-- The smallest study: a parabola with its lowest point at x = 1, y = -1.
--
--   hpo-tune run scripts/lua/quadratic.lua
--   hpo-tune run scripts/lua/quadratic.lua --trials 200 --sampler random

local hpo = require "hpo"

-- A script may have options of its own. Set this one with `--set width=2`.
local width = hpo.option("width", 5.0, "the search goes from -width to width")

return hpo.study {
  name      = "quadratic",                                  -- what the study is called in the store
  trainer   = "quadratic",                                  -- the plugin that computes the value
  objective = { metric = "value", direction = "minimize" },
  trials    = 100,

  -- hpo calls this for each trial. It asks for the parameters, and the sampler answers.
  space = function(trial)
    trial:float("x", -width, width)
    trial:float("y", -width, width)
  end,
}
