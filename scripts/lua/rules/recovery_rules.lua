-- Rules for failures, for any study script:
--
--     local rules = require "recovery_rules"
--     return hpo.study {
--       on_failure = rules.first {
--         rules.wait_for_others { timeout = "30min" },
--         rules.shrink_micro_batch {},
--         rules.reduce_lora_rank { least = 4 },
--         rules.prune "does not fit",
--       },
--       ...
--     }
--
-- Each function makes a rule: function(trial, failure, plan). A rule returns nil if it has no answer. Then the next one is asked, and at the
-- end the recovery policy. A rule that changes a parameter says so in the trial: its attempt records the parameter beside the trial's own.
local hpo = require "hpo"

local rules = {}

local function is_device_memory(failure) return failure.kind == "out_of_memory" and failure.cause ~= "host" end

local function is_host_memory(failure) return failure.kind == "host_out_of_memory" or failure.cause == "host" end

-- An option of a rule, or what it is without it.
local function option(options, name, standard)
  local value = options and options[name]
  if value == nil then return standard end
  return value
end

-- The first answer of several rules.
function rules.first(list)
  return function(trial, failure, plan)
    for _, rule in ipairs(list) do
      local answer = rule(trial, failure, plan)
      if answer then return answer end
    end
  end
end

-- Any other rule, in the first `times` attempts of a trial only.
function rules.at_most(times, rule)
  return function(trial, failure, plan)
    if failure.attempt <= times then return rule(trial, failure, plan) end
  end
end

-- Runs the trial again as it was, up to `times` times, if the failure may not come again.
function rules.retry(times)
  return function(_, failure, _)
    if failure.recurrence ~= "deterministic" and failure.attempt <= times then return hpo.retry { fresh_worker = true } end
  end
end

-- In a new process, once: after a leak, fragmentation, a crash or an error that poisons the process.
function rules.fresh_worker()
  return function(_, failure, _)
    local memory = is_device_memory(failure) and (failure.cause == "leak" or failure.cause == "fragmentation")
    local again = failure.sticky and failure.recurrence ~= "deterministic"
    if (memory or again) and failure.attempt == 1 then return hpo.retry { fresh_worker = true } end
  end
end

-- On another device of the run, after a fault of this one, if there is another that can be used. `times`: how often (3).
function rules.other_device(options)
  local times = option(options, "times", 3)
  return function(_, failure, _)
    if failure.blame == "device" and failure.other_devices > 0 and failure.attempt <= times then return hpo.retry { other_device = true } end
  end
end

-- When enough of the device is free, if other processes held the memory. `timeout`: the longest wait ("10min"); `times`: how often (3).
function rules.wait_for_others(options)
  local timeout, times = option(options, "timeout", "10min"), option(options, "times", 3)
  return function(_, failure, _)
    if failure.blame == "neighbour" and failure.attempt <= times then return hpo.retry { wait = true, timeout = timeout } end
  end
end

-- While no other attempt of the run runs, once, if other processes held the memory.
function rules.alone()
  return function(_, failure, _)
    if failure.blame == "neighbour" and failure.attempt == 1 then return hpo.retry { alone = true } end
  end
end

-- Half the micro-batch, as long as it is more than `least` (1).
function rules.shrink_micro_batch(options)
  local least = option(options, "least", 1)
  return function(_, failure, plan)
    if is_device_memory(failure) and plan.micro_batch and plan.micro_batch > least then
      return hpo.retry { micro_batch = math.max(least, plan.micro_batch // 2) }
    end
  end
end

-- Half the rank of LoRA, if the device refused memory at the smallest micro-batch. This changes the model.
-- `parameter`: its name ("lora.rank"); `least` (4); `alpha`: the parameter that is scaled with it, so that alpha / rank stays (none). A whole
-- alpha stays whole. The space must allow the new values: else the trial ends, and its rule_error says so.
function rules.reduce_lora_rank(options)
  local name, least, alpha = option(options, "parameter", "lora.rank"), option(options, "least", 4), option(options, "alpha", nil)
  return function(trial, failure, plan)
    if not is_device_memory(failure) or (plan.micro_batch and plan.micro_batch > 1) then return nil end
    local rank = trial.params[name]
    if not rank or rank <= least then return nil end
    local smaller = math.max(least, rank // 2)
    local params = { [name] = smaller }
    local scale = alpha and trial.params[alpha]
    if math.type(scale) == "integer" then params[alpha] = math.max(1, scale * smaller // rank)
    elseif scale then params[alpha] = scale * smaller / rank end
    return hpo.retry { params = params, reason = "a smaller rank of LoRA" }
  end
end

-- Half as many processes that load data, if the host's memory ran out. This does not change what is learned.
-- `parameter`: its name ("loader.workers"); `least` (0).
function rules.fewer_loader_workers(options)
  local name, least = option(options, "parameter", "loader.workers"), option(options, "least", 0)
  return function(trial, failure, _)
    local workers = trial.params[name]
    if is_host_memory(failure) and workers and workers > least then
      return hpo.retry { params = { [name] = math.max(least, workers // 2) }, reason = "fewer processes that load data" }
    end
  end
end

-- Ends the trial. After it no rule is asked.
function rules.prune(reason)
  return function() return hpo.prune(reason) end
end

return rules
