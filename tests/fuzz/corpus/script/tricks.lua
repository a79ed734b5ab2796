local hpo = require "hpo"
local t = setmetatable({}, { __index = function(t, k) return k end, __len = function() return 5 end, __close = function() error("c") end })
do local c <close> = t pcall(error, t) end
table.sort({ 3, 1, 2 }, function(a, b) return a > b end)
table.move({ 1, 2 }, 1, 2, 3, {}) table.insert({}, 1, table.concat({ "a", 1 }, ",")) table.unpack({}, 1, 3)
local function f(n) return n < 1 and 0 or 1 + f(n - 1) end
f(100)
local ok, e = pcall(function() local x = nil; return x.y end)
goto done
for i = 1, 1e9 do t[i] = i end
::done::
_G.kept = t
return hpo.study { name = "t", trainer = "t", objective = { metric = "m", direction = "minimize" },
  space = function(trial) kept = trial; pcall(trial.int, trial, "x", 1, 2); pcall(trial.require, trial, false) end }
