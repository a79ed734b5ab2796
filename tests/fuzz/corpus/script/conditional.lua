local hpo = require "hpo"
local n = hpo.option("n", 3, "help")
return hpo.study { name = "a", trainer = { "t", epochs = n }, objective = { metric = "m", direction = "minimize" },
  sampler = { name = "tpe", startup_trials = 2 }, trials = 5, device_memory = "60MiB",
  space = function(trial)
    local kind = trial:categorical("kind", { "a", "b", 3, true })
    if kind == "a" then trial:int("x", 1, 9, { step = 2, max = n }) end
    trial:float("lr", 1e-5, 1, { log = true, min = 1e-4 })
    trial:require(trial.params.lr < 0.9, "too high")
  end,
  on_oom = function(trial, failure, plan)
    if failure.fragmentation > 0.2 then return hpo.retry { fresh_worker = true, params = { x = 5 } } end
    if plan.micro_batch > 1 then return hpo.retry { micro_batch = plan.micro_batch // 2, precision = "bf16" } end
    return hpo.prune("no " .. failure.kind)
  end,
  on_failure = function() return hpo.fail "x" end }
