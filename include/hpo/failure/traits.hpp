// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "hpo/core/failure.hpp"
#include "hpo/failure/blame.hpp"
#include "hpo/failure/codes/error_search.hpp"
#include "hpo/failure/codes/xid_message.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/message_families.hpp"

namespace hpo {

/// What follows from a failure's kind, cause and code.
struct FailureTraits {
    Blame blame = Blame::unknown;
    Recurrence recurrence = Recurrence::unknown;
    bool sticky = false;  ///< the process that met it can do nothing more on the device
    /// The failure may follow from the trial's parameters alone: memory that they need, or a loss that they let diverge. Another trial may
    /// do well. If not set, a trial with other parameters likely fails in the same way.
    bool follows_parameters = false;
    friend bool operator==(const FailureTraits&, const FailureTraits&) = default;
};

namespace detail {

/// By FailureKind, in its order.
inline constexpr auto kind_traits = std::to_array<FailureTraits>({
    {Blame::own, Recurrence::unknown, false, true},          // out_of_memory: see memory_traits
    {Blame::host, Recurrence::unknown, false, true},         // host_out_of_memory
    {Blame::own, Recurrence::unknown, true, false},          // cuda_sticky
    {Blame::device, Recurrence::transient, false, false},    // cuda_transient
    {Blame::device, Recurrence::unknown, true, false},       // hardware
    {Blame::own, Recurrence::deterministic, false, true},    // non_finite
    {Blame::own, Recurrence::deterministic, false, false},   // bad_batch
    {Blame::unknown, Recurrence::unknown, false, false},     // timeout
    {Blame::unknown, Recurrence::unknown, true, false},      // crash
    {Blame::own, Recurrence::deterministic, false, false},   // trainer_error
    {Blame::unknown, Recurrence::transient, true, false},    // lost_worker
    {Blame::own, Recurrence::deterministic, false, false},   // script_error
    {Blame::own, Recurrence::deterministic, false, true},    // predicted_oom
    {Blame::host, Recurrence::deterministic, false, false},  // environment
    {Blame::own, Recurrence::deterministic, false, false},   // data
});
static_assert(kind_traits.size() == failure_kind_names.size(), "each kind of failure has its traits");

/// By OomCause, in its order.
inline constexpr auto memory_traits = std::to_array<FailureTraits>({
    {Blame::own, Recurrence::deterministic, false, true},    // capacity
    {Blame::own, Recurrence::unknown, false, true},          // fragmentation
    {Blame::own, Recurrence::transient, false, false},       // leak: an earlier trial's, gone with its process
    {Blame::neighbour, Recurrence::transient, false, true},  // neighbour
    {Blame::own, Recurrence::deterministic, false, true},    // limit
    {Blame::host, Recurrence::unknown, false, true},         // host
    {Blame::own, Recurrence::deterministic, false, true},    // workspace
    {Blame::own, Recurrence::unknown, false, true},          // unknown
});
static_assert(memory_traits.size() == oom_cause_names.size(), "each cause has its traits");

}  // namespace detail

/// The traits of a failure. They follow from its kind, or from the cause for a memory failure with one. If the failure has a code, or if
/// its message names an error of a CUDA library or an Xid, that error's meaning tells who is to blame, whether it comes again, and whether
/// it is sticky. An error that means another kind than the failure's tells nothing. Of the environment, some messages tell whether they
/// come again: a network may be back. If the program went on and printed another error (later_words), who is to blame and whether it comes
/// again are unknown.
[[nodiscard]] FailureTraits traits_of(const Failure& failure);

}  // namespace hpo

namespace hpo::detail {

/// What the error that a failure names means. Returns nullopt if it names none that fits its kind.
[[nodiscard]] inline std::optional<ErrorMeaning> meaning_of(const Failure& failure) {
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

inline FailureTraits traits_of(const Failure& failure) {
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
