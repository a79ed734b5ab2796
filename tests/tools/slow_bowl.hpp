// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo::test {

struct SlowBowl {
    int trials = 0;
    int workers = 1;
    int sleep_ms = 0;  ///< before each of the two reports of a trial; `--set sleep_ms=N` changes it
};

/// The script of a study named bowl whose trials take their time.
inline std::string slow_bowl(const SlowBowl& bowl) {
    return R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 2, sleep_ms = hpo.option("sleep_ms", )" +
           std::to_string(bowl.sleep_ms) + R"(, "pause before each report") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = )" +
           std::to_string(bowl.trials) + ", workers = " + std::to_string(bowl.workers) + R"(,
  space = function(trial) trial:float("x", -5, 5) end,
}
)";
}

}  // namespace hpo::test
