// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/recovery/rungs/rung.hpp"

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

}  // namespace hpo::recovery

#ifndef HPO_COMPILED
#include "hpo/recovery/impl/known_rungs_inl.hpp"
#endif
