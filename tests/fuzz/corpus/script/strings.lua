local hpo = require "hpo"
local s = ("abc"):rep(20, "-")
for w in s:gmatch("(%a+)%-?") do s = s .. w end
s = s:gsub("(.-)b", function(a) return a:upper() end):gsub("%w", "%0%0"):gsub("x", { x = "y" })
local a, b = s:find("[^%d%s]*()c-$", -20)
print(a, b, s:match("^(.*)%f[%A]"), ("%5.2f %q"):format(1.5, s), #s, s:byte(1, -1))
while s:find((".-"):rep(10) .. "z") do end
return hpo.study { name = s:sub(1, 5), trainer = hpo.command { "sh", 1, "{x}" }, objectives = { { metric = "m", direction = "maximize" } },
  space = function(trial) trial:int("x", 0, 3) end }
