// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/core/plan.hpp"
#include "support/metric_text.hpp"
#include "support/text.hpp"

namespace hpo::tune {

using tools::clipped;
using tools::duration;
using tools::metric_value_text;
using tools::shell_quoted;

/// "0.8312", "1.2e-05": six significant digits.
[[nodiscard]] std::string number(double value);
/// "x=0.5 model.kind=cnn": the parameters in the order of the script.
[[nodiscard]] std::string summary_of(const ParamSet& params);
/// The levers of a plan that are set, in words: "micro-batch 8, precision bf16".
[[nodiscard]] std::string plan_text(const ExecutionPlan& plan);
/// Rows under a header, one line each however long.
[[nodiscard]] std::string table(const std::vector<std::string>& header, std::vector<std::vector<std::string>> rows);
/// "[######......]": `share` in 0..1 of `width` cells.
[[nodiscard]] std::string bar(double share, std::size_t width);

}  // namespace hpo::tune
