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

-- What the options of rules must be: a test, and the words for it.
local function whole_from(least)
  return { function(value) return math.type(value) == "integer" and value >= least end, "a whole number of at least " .. least }
end
local parameter_name = { function(value) return type(value) == "string" and value ~= "" end, "the name of a parameter" }
local any = { function() return true end, "" }

local function shown(value) return type(value) == "string" and '"' .. value .. '"' or tostring(value) end

-- The options of a rule. `known` has for each name what it must be and its standard value, if it has one. An unknown name or a wrong value
-- is an error at the line that makes the rule.
local function options_of(rule, given, known)
  local place = "rules." .. rule
  if given ~= nil and (type(given) ~= "table" or getmetatable(given) ~= nil) then
    error(place .. " makes a rule: expected a call with its options, such as " .. place .. " {}", 3)
  end
  local options = {}
  for name, option in pairs(known) do options[name] = option.standard end
  for name, value in pairs(given or {}) do
    if known[name] == nil then
      local names = {}
      for each in pairs(known) do names[#names + 1] = each end
      table.sort(names)
      error(place .. ": unknown option '" .. tostring(name) .. "'; known: " .. table.concat(names, ", "), 3)
    end
    local fits, expected = table.unpack(known[name].must)
    if not fits(value) then error(place .. ": " .. name .. ": got " .. shown(value) .. "; expected " .. expected, 3) end
    options[name] = value
  end
  return options
end

-- A number of times.
local function times_of(rule, times)
  local fits, expected = table.unpack(whole_from(1))
  if not fits(times) then error("rules." .. rule .. ": got " .. shown(times) .. " times; expected " .. expected, 3) end
  return times
end

-- The first answer of several rules.
function rules.first(list)
  local count = 0
  for _, rule in pairs(list) do
    count = count + 1
    if type(rule) ~= "function" then error("rules.first: got a " .. type(rule) .. "; expected rules", 2) end
  end
  if count == 0 or count ~= #list then error("rules.first: one of its rules is nil; is its name right?", 2) end
  return function(trial, failure, plan)
    for _, rule in ipairs(list) do
      local answer = rule(trial, failure, plan)
      if answer then return answer end
    end
  end
end

-- Any other rule, in the first `times` attempts of a trial only.
function rules.at_most(times, rule)
  times = times_of("at_most", times)
  if type(rule) ~= "function" then error("rules.at_most: got a " .. type(rule) .. "; expected a rule", 2) end
  return function(trial, failure, plan)
    if failure.attempt <= times then return rule(trial, failure, plan) end
  end
end

-- Runs the trial again as it was, in a new process, up to `times` times, if the failure may not come again. An exception of the trainer
-- may be one: perhaps a file or a service was away.
function rules.retry(times)
  times = times_of("retry", times)
  return function(_, failure, _)
    local may_not_come_again = failure.recurrence ~= "deterministic" or failure.kind == "trainer_error"
    if may_not_come_again and failure.attempt <= times then return hpo.retry { fresh_worker = true } end
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
function rules.other_device(given)
  local times = options_of("other_device", given, { times = { must = whole_from(1), standard = 3 } }).times
  return function(_, failure, _)
    if failure.blame == "device" and failure.other_devices > 0 and failure.attempt <= times then return hpo.retry { other_device = true } end
  end
end

-- After a pause, if the network or a network file system was away. `interval`: the first pause ("5s"), which doubles
-- each time; `timeout`: all pauses of a trial together ("10min"). Unlike the rung, it pauses in the first trials, too.
function rules.backoff(given)
  local options = options_of("backoff", given, { timeout = { must = any, standard = "10min" }, interval = { must = any, standard = "5s" } })
  local function seconds(name)
    local fits, value = pcall(hpo.seconds, options[name])
    if not fits then error((value:gsub("^.*hpo%.seconds", "rules.backoff: " .. name)), 3) end
    return value
  end
  local timeout, interval = seconds "timeout", seconds "interval"
  if interval > timeout then error("rules.backoff: got an interval above the timeout; expected at most the timeout", 2) end
  return function(_, failure, _)
    if failure.kind ~= "environment" or failure.recurrence ~= "transient" then return nil end
    local pause = interval * 2 ^ (failure.attempt - 1)
    local left = timeout - (pause - interval) -- the pauses before took interval * (2 ^ n - 1)
    if left > 0 then return hpo.retry { pause = math.min(pause, left) } end
  end
end

-- When enough of the device is free, if other processes held the memory. `timeout`: the longest wait ("10min");
-- `interval`: how often it looks ("1s"); `times`: how often it waits (3).
function rules.wait_for_others(given)
  local options = options_of("wait_for_others", given, {
    timeout = { must = any, standard = "10min" }, interval = { must = any, standard = "1s" }, times = { must = whole_from(1), standard = 3 },
  })
  local times, changes = options.times, { wait = true, timeout = options.timeout, interval = options.interval }
  local fits, why = pcall(hpo.retry, changes)
  if not fits then error((why:gsub("^.*hpo%.retry", "rules.wait_for_others")), 2) end
  return function(_, failure, _)
    if failure.blame == "neighbour" and failure.attempt <= times then return hpo.retry(changes) end
  end
end

-- While no other attempt of the run runs, once, if other processes held the memory.
function rules.alone()
  return function(_, failure, _)
    if failure.blame == "neighbour" and failure.attempt == 1 then return hpo.retry { alone = true } end
  end
end

-- Half the micro-batch, as long as it is more than `least` (1).
function rules.shrink_micro_batch(given)
  local least = options_of("shrink_micro_batch", given, { least = { must = whole_from(1), standard = 1 } }).least
  return function(_, failure, plan)
    if is_device_memory(failure) and plan.micro_batch and plan.micro_batch > least then
      return hpo.retry { micro_batch = math.max(least, plan.micro_batch // 2) }
    end
  end
end

-- Half the rank of LoRA, if the device refused memory at the smallest micro-batch. This changes the model.
-- `parameter`: its name ("lora.rank"); `least` (4); `alpha`: the parameter that is scaled with it, so that alpha / rank stays (none). A whole
-- alpha stays whole. The space must allow the new values: else the trial ends, and its rule_error says so.
function rules.reduce_lora_rank(given)
  local options = options_of("reduce_lora_rank", given, {
    parameter = { must = parameter_name, standard = "lora.rank" }, least = { must = whole_from(1), standard = 4 },
    alpha = { must = parameter_name },
  })
  local name, least, alpha = options.parameter, options.least, options.alpha
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
function rules.fewer_loader_workers(given)
  local options = options_of("fewer_loader_workers", given, {
    parameter = { must = parameter_name, standard = "loader.workers" }, least = { must = whole_from(0), standard = 0 },
  })
  local name, least = options.parameter, options.least
  return function(trial, failure, _)
    local workers = trial.params[name]
    if is_host_memory(failure) and workers and workers > least then
      return hpo.retry { params = { [name] = math.max(least, workers // 2) }, reason = "fewer processes that load data" }
    end
  end
end

-- Ends the trial. After it no rule is asked.
function rules.prune(reason)
  if type(reason) ~= "string" or reason == "" then error("rules.prune: got " .. shown(reason) .. "; expected a reason", 2) end
  return function() return hpo.prune(reason) end
end

return rules
