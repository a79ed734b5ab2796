local hpo = require "hpo"
return hpo.study { name = "e", trainer = "t", objective = { metric = "m", direction = "minimize" },
  space = function(trial)
    repeat local ok = pcall(function() while true do local s = ("x"):rep(1 << 18) .. trial.number end end) until false
  end,
  on_failure = function(trial, failure, plan) local t = {} while true do t[#t + 1] = { failure, plan } end end }
