// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/failure/codes/error_search.hpp"
#include "hpo/failure/codes/xid_message.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/traits.hpp"

namespace hpo::detail {

/// What the error that a failure names means. Returns nullopt if it names none that fits its kind.
[[nodiscard]] HPO_INLINE std::optional<ErrorMeaning> meaning_of(const Failure& failure) {
    const auto fits = [&](const ErrorMeaning& meaning) { return failure_kind_of(meaning.what) == failure.kind; };
    if (const ErrorCode* error = failure.code ? cuda_error(*failure.code) : nullptr; error && fits(error->meaning)) return error->meaning;
    for (std::string_view rest = failure.message; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (const ErrorCode* error = library_error_in(line); error && fits(error->meaning)) return error->meaning;
        if (line.size() == rest.size()) break;
        rest.remove_prefix(line.size() + 1);
    }
    if (const XidCode* xid = failing_xid_in(failure.message); xid && fits(xid->meaning)) return xid->meaning;
    return std::nullopt;
}

}  // namespace hpo::detail

namespace hpo {

HPO_INLINE FailureTraits traits_of(const Failure& failure) {
    if (failure.cause && is_memory(failure.kind)) return detail::memory_traits[static_cast<std::size_t>(*failure.cause)];
    FailureTraits traits = detail::kind_traits[static_cast<std::size_t>(failure.kind)];
    if (is_memory(failure.kind)) return traits;
    if (const auto meaning = detail::meaning_of(failure)) {
        traits.blame = meaning->blame;
        traits.recurrence = meaning->recurrence;
        traits.sticky = ends_process(meaning->what);
    } else if (!later_words(failure).empty()) {
        traits = {.blame = Blame::unknown, .recurrence = Recurrence::unknown, .sticky = traits.sticky};
    } else if (failure.kind == FailureKind::environment) {
        const auto part = find_telling_part(failure.type, failure.message);
        if (part && part->kind == failure.kind && part->family && part->family->recurrence) traits.recurrence = *part->family->recurrence;
    }
    return traits;
}

}  // namespace hpo
