// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"

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

/// The description of one option for users, taken from the policy's `fields(visit)`.
struct OptionInfo {
    std::string name;
    std::string default_text;
    std::string help;
    std::string expected;  ///< "a whole number"
};

/// The options of `P` in the order of its fields.
template <Configurable P>
[[nodiscard]] std::vector<OptionInfo> option_infos() {
    std::vector<OptionInfo> infos;
    const typename P::Config defaults{};
    P::fields([&]<class T>(std::string_view name, T P::Config::*member, std::string_view help) {
        using Traits = field_traits<T>;
        infos.push_back({std::string{name}, Traits::format(defaults.*member), std::string{help}, std::string{Traits::expected}});
    });
    return infos;
}

/// The Config of `P` with `options` set over its defaults. Throws unknown_name for an option that `P` does not have, and bad_value for a
/// value of the wrong form. Both name `place`. The policy's constructor checks ranges.
template <Configurable P>
[[nodiscard]] typename P::Config parse_config(std::string_view place, const std::vector<PolicyOption>& options) {
    typename P::Config config{};
    for (const PolicyOption& option : options) {
        bool known = false;
        P::fields([&]<class T>(std::string_view name, T P::Config::*member, std::string_view /*help*/) {
            if (name != option.name) return;
            known = true;
            using Traits = field_traits<T>;
            auto value = Traits::parse(option.value);
            if (!value) {
                throw bad_value(std::string{place} + ": option '" + option.name + "' of " + std::string{P::name}, "'" + option.value + "'",
                                Traits::expected);
            }
            config.*member = std::move(*value);
        });
        if (!known) {
            std::vector<std::string> names;
            for (const OptionInfo& info : option_infos<P>()) names.push_back(info.name);
            throw unknown_name(place, "option of " + std::string{P::name}, option.name, names);
        }
    }
    return config;
}

}  // namespace hpo::registry
