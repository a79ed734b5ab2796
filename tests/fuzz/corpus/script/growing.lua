local hpo = require "hpo"
local kept = {}
local ok = pcall(function() for i = 1, 1e7 do kept[i] = ("y"):rep(i % 1000) .. i end end)
local big = pcall(string.rep, "x", 1 << 40)
pcall(function() local s = "ab" while true do s = s .. s end end)
pcall(table.concat, kept, ("-"):rep(100))
kept = nil
return hpo.study { name = "g", trainer = { "t", layers = { 1, 2, 3 } }, objective = { metric = "m", direction = "minimize" },
  space = function(trial)
    local choices = {}
    for i = 1, 50 do choices[i] = "c" .. i end
    local c = trial:categorical("c", choices)
    for i = 1, 20 do trial:float("f" .. i, -i, i) end
    trial:int("n", 1, 1 << 40, { log = true })
  end }
