// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo::registry {

/// One `key=value` of a policy's text.
struct PolicyOption {
    std::string name;
    std::string value;
    friend bool operator==(const PolicyOption&, const PolicyOption&) = default;
};

/// A policy as a person names it: `tpe`, `tpe:startup_trials=20,gamma=0.1`.
struct PolicySpec {
    std::string name;
    std::vector<PolicyOption> options;
    friend bool operator==(const PolicySpec&, const PolicySpec&) = default;
};

/// `NAME` or `NAME:option=value,...`, as parse_policy_spec reads it.
[[nodiscard]] std::string to_text(const PolicySpec& spec);

/// Reads a spec. `ladder(a, b(1, 2))` is short for `ladder:rungs=a+b(1, 2)`. Blanks around names and values are ignored. Throws bad_value
/// with `place` for text that is not a spec, and for an option that is given twice. The registry checks later whether the names exist.
[[nodiscard]] PolicySpec parse_policy_spec(std::string_view place, std::string_view text);

}  // namespace hpo::registry
