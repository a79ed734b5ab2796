local hpo = require "hpo"
local seen = {}
return hpo.study { name = "r", trainer = "t", objective = { metric = "m", direction = "maximize" }, trials = 3,
  space = function(trial) trial:int("x", 1, 9); trial:float("lr", 1e-6, 1e-1, { log = true }) end,
  on_oom = function(trial, failure, plan)
    seen[failure.signature] = (seen[failure.signature] or 0) + 1
    if failure.blame == "neighbour" or failure.recurrence == "transient" then return hpo.retry { wait = 0.5 } end
    if (failure.requested_bytes or 0) > 2^30 then return hpo.retry { micro_batch = 1, params = { x = trial.params.x } } end
    return hpo.prune(failure.kind .. " " .. tostring(failure.cause))
  end,
  on_failure = function(trial, failure, plan)
    if failure.sticky and failure.attempt < 3 then return hpo.retry { fresh_worker = true } end
    if failure.message:find("NaN", 1, true) then return hpo.prune "diverged" end
    return hpo.fail(failure.message:sub(1, 80))
  end }
