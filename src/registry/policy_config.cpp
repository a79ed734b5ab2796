// SPDX-License-Identifier: MIT
#include "hpo/registry/policy_config.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/bracketed_list.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/plain_text.hpp"

namespace hpo::registry::detail {

/// What `ladder(a, b(1, 2))` has in its brackets, with + between the rungs. nullopt for other texts. Throws bad_value if the last bracket
/// is missing.
[[nodiscard]] std::optional<std::string> rungs_in_brackets(std::string_view place, std::string_view text) {
    constexpr std::string_view ladder = "ladder";
    const std::string shown{text};
    text = trimmed(text);
    if (!text.starts_with(ladder)) return std::nullopt;
    text = trimmed(text.substr(ladder.size()));
    if (!text.starts_with('(')) return std::nullopt;
    if (!text.ends_with(')')) throw bad_value(place, "'" + shown + "'", "a ) at its end, as in ladder(retry(2), prune)");
    std::string rungs;
    for (std::string_view rest = text.substr(1, text.size() - 2);;) {
        const auto comma = comma_outside_brackets(rest);
        rungs += trimmed(rest.substr(0, comma));
        if (comma == std::string_view::npos) return rungs;
        rungs += '+';
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace hpo::registry::detail

namespace hpo::registry {

std::string to_text(const PolicySpec& spec) {
    std::string text = spec.name;
    for (const PolicyOption& option : spec.options) {
        text += text.size() == spec.name.size() ? ':' : ',';
        text += option.name + '=' + option.value;
    }
    return text;
}

PolicySpec parse_policy_spec(std::string_view place, std::string_view text) {
    static constexpr std::string_view form = "NAME or NAME:option=value,option=value";
    const auto refuse = [&](const std::string& what) { return bad_value(place, what + " in '" + std::string{text} + "'", form); };

    if (auto rungs = detail::rungs_in_brackets(place, text)) return {"ladder", {{"rungs", *std::move(rungs)}}};
    const auto colon = text.find(':');
    PolicySpec spec{std::string{trimmed(text.substr(0, colon))}, {}};
    if (spec.name.empty()) throw refuse("no name");
    if (colon == std::string_view::npos) return spec;
    std::string_view rest = text.substr(colon + 1);
    for (;;) {
        const auto comma = comma_outside_brackets(rest);  // rungs=wait(30min,10s)+prune has one
        const std::string_view item = trimmed(rest.substr(0, comma));
        const auto equals = item.find('=');
        if (item.empty()) throw refuse("an empty option");
        if (equals == std::string_view::npos) throw refuse("option '" + std::string{item} + "' without '='");
        PolicyOption option{std::string{trimmed(item.substr(0, equals))}, std::string{trimmed(item.substr(equals + 1))}};
        if (option.name.empty()) throw refuse("'" + std::string{item} + "' without a name");
        if (std::any_of(spec.options.begin(), spec.options.end(), [&](const auto& known) { return known.name == option.name; })) {
            throw refuse("option '" + option.name + "' twice");
        }
        spec.options.push_back(std::move(option));
        if (comma == std::string_view::npos) return spec;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace hpo::registry
