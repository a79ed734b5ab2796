// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/base/duration.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/recovery/rungs/alone.hpp"
#include "hpo/recovery/rungs/backoff.hpp"
#include "hpo/recovery/rungs/checkpoint_activations.hpp"
#include "hpo/recovery/rungs/expandable_segments.hpp"
#include "hpo/recovery/rungs/fresh_worker.hpp"
#include "hpo/recovery/rungs/limit_splits.hpp"
#include "hpo/recovery/rungs/lower_precision.hpp"
#include "hpo/recovery/rungs/other_device.hpp"
#include "hpo/recovery/rungs/retry.hpp"
#include "hpo/recovery/rungs/rung.hpp"
#include "hpo/recovery/rungs/wait.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"

namespace hpo::recovery {

/// A rung of any type, with its arguments.
struct AnyRung {
    std::string_view name;
    std::function<std::optional<Recovery>(const FailedAttempt& failed)> offer;
};

template <RecoveryRung R>
[[nodiscard]] AnyRung any_rung(R rung) {
    return {R::name, [rung = std::move(rung)](const FailedAttempt& failed) { return rung.offer(failed); }};
}

/// A rung that a command line or a script can name.
struct KnownRung {
    std::string_view name;
    std::string_view summary;
    std::string form;  ///< its word with its arguments: "wait(timeout, interval)"
    /// Makes it from its word and the texts of its arguments. Throws Error for an argument that it does not take.
    std::function<AnyRung(const std::string& word, const std::vector<std::string_view>& arguments)> make;
};

[[nodiscard]] std::span<const KnownRung> known_rungs();

/// The rungs of a text such as "shrink_micro_batch+wait(30min, 10s)+retry(2)+prune". A word may have arguments in parentheses; those that
/// are left out have their defaults. Throws Error for a rung that is unknown or named twice, and for a wrong argument.
[[nodiscard]] std::vector<AnyRung> parse_rungs(std::string_view text);

namespace detail {

struct AnyArgument {
    template <class R, class T>
    void operator()(std::string_view /*name*/, T R::* /*member*/) const {}
};

template <class R>
concept HasArguments = requires {
    R::arguments(AnyArgument{});
};

/// A rung whose arguments must fit each other.
template <class R>
concept HasRequirement = requires(const R& rung) {
    { rung.unmet(std::size_t{}) } -> std::same_as<std::string_view>;
};

/// Reads a number of times, or a duration in seconds.
template <class T>
std::optional<T> read_argument(std::string_view text) {
    std::optional<T> value;
    if constexpr (std::is_same_v<T, double>) {
        value = parse_duration_seconds(text);
    } else {
        T whole{};
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), whole);
        if (status == std::errc{} && end == text.data() + text.size()) value = whole;
    }
    return value && *value > 0 ? value : std::nullopt;
}

/// Sets the arguments of a rung from their texts, in their order.
template <RecoveryRung R>
void read_arguments(R& rung, const std::string& word, const std::vector<std::string_view>& texts) {
    std::size_t at = 0;
    R::arguments([&]<class T>(std::string_view name, T R::*member) {
        if (at >= texts.size()) return;
        const auto value = read_argument<T>(texts[at++]);
        if (!value) {
            constexpr bool is_time = std::is_same_v<T, double>;
            throw bad_value("rungs", "'" + word + "'",
                            std::string{name} + (is_time ? " as a duration above 0, such as 10min" : " as a whole number above 0"));
        }
        rung.*member = *value;
    });
}

/// Makes a rung from its word, of which `texts` are the arguments. `form` is the word with at most `most` arguments.
template <RecoveryRung R>
AnyRung make_rung(const std::string& form, std::size_t most, const std::string& word, const std::vector<std::string_view>& texts) {
    if (texts.size() > most) {
        const std::string count = std::to_string(texts.size()) + " argument" + (texts.size() == 1 ? "" : "s");
        throw bad_value("rungs", "'" + word + "' with " + count, form);
    }
    R rung;
    if constexpr (HasArguments<R>) read_arguments(rung, word, texts);
    if constexpr (HasRequirement<R>) {
        if (const std::string_view expected = rung.unmet(texts.size()); !expected.empty())
            throw bad_value("rungs", "'" + word + "'", expected);
    }
    return any_rung(std::move(rung));
}

template <RecoveryRung R>
KnownRung known_rung() {
    std::string names;
    std::size_t most = 0;
    if constexpr (HasArguments<R>) {
        R::arguments([&](std::string_view name, auto) { names += (most++ == 0 ? "" : ", ") + std::string{name}; });
    }
    const std::string form = std::string{R::name} + (most == 0 ? "" : "(" + names + ")");
    const auto make = [form, most](const std::string& word, const std::vector<std::string_view>& texts) {
        return make_rung<R>(form, most, word, texts);
    };
    return {R::name, R::summary, form, make};
}

/// Splits "wait(30min, 10s)" into its name and its arguments.
inline std::pair<std::string_view, std::vector<std::string_view>> split_rung(std::string_view word) {
    const auto open = word.find('(');
    if (open == std::string_view::npos) return {word, {}};
    if (!word.ends_with(')')) throw bad_value("rungs", "'" + std::string{word} + "'", "a ) at its end");
    std::vector<std::string_view> arguments;
    const std::string_view inside = trimmed(word.substr(open + 1, word.size() - open - 2));
    for (std::string_view rest = inside; !inside.empty();) {
        const auto comma = rest.find(',');
        arguments.push_back(trimmed(rest.substr(0, comma)));
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    return {trimmed(word.substr(0, open)), std::move(arguments)};
}

}  // namespace detail

inline std::span<const KnownRung> known_rungs() {
    static const std::vector<KnownRung> rungs{detail::known_rung<ShrinkMicroBatch>(),
                                              detail::known_rung<CheckpointActivations>(),
                                              detail::known_rung<LowerPrecision>(),
                                              detail::known_rung<ExpandableSegments>(),
                                              detail::known_rung<LimitSplits>(),
                                              detail::known_rung<FreshWorker>(),
                                              detail::known_rung<OtherDevice>(),
                                              detail::known_rung<Alone>(),
                                              detail::known_rung<Wait>(),
                                              detail::known_rung<Backoff>(),
                                              detail::known_rung<Retry>(),
                                              detail::known_rung<Prune>()};
    return rungs;
}

inline std::vector<AnyRung> parse_rungs(std::string_view text) {
    std::vector<AnyRung> rungs;
    for (std::string_view rest = text;;) {
        const auto plus = rest.find('+');
        const std::string_view word = trimmed(rest.substr(0, plus));
        if (word.empty()) throw bad_value("rungs", "'" + std::string{text} + "'", "rungs, with one + or one comma between two of them");
        const auto [name, arguments] = detail::split_rung(word);
        const auto known = std::ranges::find(known_rungs(), name, &KnownRung::name);
        if (known == known_rungs().end()) {
            std::vector<std::string> names;
            for (const KnownRung& rung : known_rungs()) names.emplace_back(rung.name);
            throw unknown_name("rungs", "rung", name, names);
        }
        if (std::ranges::find(rungs, name, &AnyRung::name) != rungs.end())
            throw bad_value("rungs", "'" + std::string{name} + "' twice", "each rung once");
        if (!rungs.empty() && rungs.back().name == Prune::name)
            throw bad_value("rungs", "'" + std::string{name} + "' behind prune, which ends every trial", "prune as the last rung");
        rungs.push_back(known->make(std::string{word}, arguments));
        if (plus == std::string_view::npos) return rungs;
        rest.remove_prefix(plus + 1);
    }
}

}  // namespace hpo::recovery
