// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

/// What hpo says in many situations. A test of who says it, and of what, asks here for the words. So other words for one of them change
/// this file, and the tests beside the code that says it, which have them to the letter.
namespace hpo::test {

[[nodiscard]] inline std::string did_you_mean(const std::string& name) { return "did you mean '" + name + "'?"; }

[[nodiscard]] inline std::string fixed_parameter(const std::string& name, const std::string& got, const std::string& expected) {
    return "fixed parameter '" + name + "': got " + got + "; expected " + expected;
}

[[nodiscard]] inline std::string whole_number_of_at_least(std::int64_t least) {
    return "expected a whole number of at least " + std::to_string(least);
}
[[nodiscard]] inline std::string whole_number_from(std::int64_t least, std::int64_t most) {
    return "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

/// Of an option that changes nothing beside the others.
[[nodiscard]] inline std::string has_no_effect(const std::string& option) { return option + ": has no effect: "; }

[[nodiscard]] inline std::string ended_with_status(int status) { return "the process ended with status " + std::to_string(status); }
[[nodiscard]] inline std::string ended_by_signal(const std::string& name) { return "the process was ended by " + name; }

/// Of a prediction whose dry run gave none.
inline const std::string probed_instead = "probed with real steps instead of a dry run";

inline const std::string trial_is_complete = ": complete, value ";
inline const std::string no_problems = "no problems found";

}  // namespace hpo::test
