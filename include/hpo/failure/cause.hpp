// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/whole_characters.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/oom_message.hpp"

namespace hpo {

/// Why memory ran out, and the figures that show it.
struct OomDiagnosis {
    OomCause cause = OomCause::unknown;
    std::string evidence;  ///< one sentence
};

/// What is known besides the failure itself.
struct OomContext {
    std::optional<MemoryReading> at_start;  ///< when the attempt began, before it allocated anything
    std::optional<std::int64_t> capacity;   ///< of the device, if the failure does not say
};

namespace detail {

[[nodiscard]] inline std::string percent_of(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? std::to_string((part * 100 + whole / 2) / whole) + " %" : "all";
}

}  // namespace detail

/// The cause of an out-of-memory failure. The first rule that holds decides:
///
/// - host: host memory ran out.
/// - limit: the allocator had a cap, and the request would have passed it. If the device itself is too small, too, it is capacity.
///   If the request fits the cap without the memory that was held before the attempt began, it is a leak.
/// - capacity: a single request is larger than the device, or than 1 EiB.
/// - leak: memory that was held before the attempt began is what is missing.
/// - fragmentation: the request would fit into reserved but unused memory, which is more than rounding leaves.
/// - neighbour: other processes hold what is missing. Where more was free than was asked for, only a process that the message names counts.
///   If the failure has no figures, it is a neighbour if others held more than half of the device when the attempt began.
/// - workspace: a library's temporary memory did not fit.
/// - unknown: more was free than was asked for.
/// - unknown: the message names processes, and what they hold does not add up to what is taken.
/// - capacity: the process itself fills the device.
/// - unknown.
[[nodiscard]] OomDiagnosis diagnose_oom(const Failure& failure, const OomContext& context = {});

/// True for causes that follow from the configuration. The other causes could have hit any trial.
[[nodiscard]] constexpr bool follows_from_configuration(OomCause cause) {
    return cause == OomCause::capacity || cause == OomCause::limit || cause == OomCause::workspace || cause == OomCause::unknown;
}

/// True if the model's weights alone did not fit. Then no batch is small enough.
[[nodiscard]] inline bool weights_do_not_fit(const Failure& failure) {
    return is_memory(failure.kind) && failure.where == "build" && follows_from_configuration(failure.cause.value_or(OomCause::unknown));
}

/// Sets `cause` and `evidence` of a memory failure. Leaves other failures unchanged.
void explain_oom(Failure& failure, const OomContext& context = {});

}  // namespace hpo

namespace hpo::detail {

/// The figures of one out-of-memory failure, collected from the message, the failure's reading and the context.
struct OomFigures {
    MemoryReading memory;
    std::optional<std::int64_t> requested;
    std::optional<std::int64_t> process;      ///< all that the process held, its context included
    std::optional<std::int64_t> others;       ///< all that other processes held
    std::optional<std::int64_t> unallocated;  ///< reserved but not in use
    std::int64_t held_before = 0;             ///< allocated when the attempt began
};

[[nodiscard]] inline OomFigures oom_figures(const Failure& failure, const OomContext& context) {
    OomFigures f{.memory = failure.memory, .requested = failure.requested_bytes, .process = {}, .others = {}, .unallocated = {}};
    MemoryReading& m = f.memory;
    if (const auto message = read_oom_figures(failure.message)) {
        const auto fill = [](auto& slot, const auto& value) {
            if (!slot) slot = value;
        };
        fill(f.requested, message->requested_bytes);
        fill(m.allocated, message->memory.allocated);
        fill(m.reserved, message->memory.reserved);
        fill(m.free, message->memory.free);
        fill(m.capacity, message->memory.capacity);
        fill(m.limit, message->memory.limit);
        if (m.neighbours.empty()) m.neighbours = message->memory.neighbours;
        f.process = message->process_bytes;
    }
    if (!m.capacity) m.capacity = context.capacity;
    if (!m.capacity && context.at_start) m.capacity = context.at_start->capacity;
    if (m.reserved && m.allocated && *m.reserved < *m.allocated) m.reserved.reset();  // figures that contradict each other
    if (m.reserved && m.allocated) f.unallocated = *m.reserved - *m.allocated;
    if (context.at_start) f.held_before = context.at_start->allocated.value_or(0);

    const std::int64_t own = std::max(m.reserved.value_or(0), m.allocated.value_or(0));
    if (f.process && *f.process < own) f.process.reset();  // in some containers the driver counts nothing for the process
    if (!m.neighbours.empty()) {
        f.others = 0;
        for (const MemoryNeighbour& neighbour : m.neighbours) *f.others += neighbour.bytes;
        // More than there is: a neighbour is the process itself under another number, or another device's.
        const std::int64_t rounding = m.capacity.value_or(0) / 50;
        if (m.capacity && *f.others + std::max(own, f.process.value_or(0)) + m.free.value_or(0) > *m.capacity + rounding) f.others.reset();
    } else if (m.capacity && m.free && (f.process || m.reserved)) {
        // No process is named. So other processes hold what is neither free nor ours, minus what a CUDA context and its libraries take
        // outside the allocator.
        const std::int64_t outside = f.process ? 0 : std::min(*m.capacity / 10, std::int64_t{5} << 28U);  // 1.25 GiB at most
        const std::int64_t gap = *m.capacity - *m.free - f.process.value_or(m.reserved.value_or(0));
        f.others = std::max<std::int64_t>(gap - outside, 0);
    }
    return f;
}

/// Bytes of the device that a message names processes of, and gives to none, beside what a context takes. 0 if its figures add up.
[[nodiscard]] inline std::int64_t bytes_of_nobody(const OomFigures& f) {
    const MemoryReading& m = f.memory;
    if (f.others.value_or(0) > 0 || m.neighbours.empty() || !m.capacity || !m.free) return 0;
    const std::int64_t own = std::max({m.reserved.value_or(0), m.allocated.value_or(0), f.process.value_or(0)});
    const std::int64_t left = *m.capacity - *m.free - own;
    return left > *m.capacity / 10 ? left : 0;
}

/// The line of a message that tells what happened, at most 160 bytes of it.
[[nodiscard]] inline std::string words_that_tell(std::string_view message) {
    std::string_view line = telling_line(message);
    if (line.empty()) line = message.substr(0, message.find('\n'));
    constexpr std::size_t most_bytes = 160;
    return std::string{whole_characters(line, most_bytes)};
}

}  // namespace hpo::detail

namespace hpo {

inline OomDiagnosis diagnose_oom(const Failure& failure, const OomContext& context) {
    if (failure.kind == FailureKind::host_out_of_memory) {
        if (failure.requested_bytes) return {OomCause::host, "the host refused " + format_bytes(*failure.requested_bytes)};
        const std::string words = detail::words_that_tell(failure.message);
        return {OomCause::host, "host memory ran out" + (words.empty() ? "" : ": " + words)};
    }
    const detail::OomFigures f = detail::oom_figures(failure, context);
    const MemoryReading& m = f.memory;
    const std::int64_t request = f.requested.value_or(0);
    const std::string asked = f.requested ? "asked for " + format_bytes(request) : std::string{"asked for more"};
    const bool workspace = detail::speaks_of_workspace(detail::lower_case(failure.message));

    const auto held = m.reserved ? m.reserved : m.allocated;
    if (m.limit && (!held || *held + request > *m.limit) && (!m.capacity || *m.limit < *m.capacity)) {
        const std::string beside = m.reserved ? " with " + format_bytes(*m.reserved) + " reserved" : "";
        const std::int64_t own = (m.allocated ? *m.allocated : m.reserved.value_or(0)) - f.held_before;
        if (m.capacity && own + request > *m.capacity) {  // a larger limit would not help
            return {OomCause::capacity, asked + beside + ", and the whole device has " + format_bytes(*m.capacity) +
                                            "; the process might take only " + format_bytes(*m.limit)};
        }
        if (m.allocated && f.held_before > *m.limit / 50 && own + request <= *m.limit) {
            return {OomCause::leak, format_bytes(f.held_before) + " were already allocated when the attempt began; without them its own " +
                                        format_bytes(own) + " and the " + format_bytes(request) + " asked for fit into the " +
                                        format_bytes(*m.limit) + " that the process may take"};
        }
        return {OomCause::limit, asked + beside + ", and the process may take only " + format_bytes(*m.limit) +
                                     (m.capacity ? " of " + format_bytes(*m.capacity) : "") +
                                     (m.free ? "; " + format_bytes(*m.free) + " of the device are free" : "")};
    }
    if (failure.message.find("more than 1EB") != std::string::npos) return {OomCause::capacity, "asked for more than 1 EiB in one piece"};
    if (m.capacity && request > *m.capacity) {
        return {OomCause::capacity, asked + ", more than the device's " + format_bytes(*m.capacity)};
    }
    const std::int64_t capacity = m.capacity.value_or(0);
    const std::int64_t others = f.others.value_or(0);
    if (m.allocated && capacity > 0 && f.held_before > capacity / 50 && *m.allocated - f.held_before + request + others <= capacity) {
        return {OomCause::leak, format_bytes(f.held_before) + " were already allocated when the attempt began; without them its own " +
                                    format_bytes(*m.allocated - f.held_before) + " and the " + format_bytes(request) +
                                    " asked for fit into " + format_bytes(capacity)};
    }
    if (f.requested && f.unallocated && *f.unallocated >= request && *f.unallocated > *m.reserved / 20) {
        return {OomCause::fragmentation, asked + " while " + format_bytes(*f.unallocated) + " (" +
                                             detail::percent_of(*f.unallocated, *m.reserved) + " of the reserved " +
                                             format_bytes(*m.reserved) + ") were reserved but not in use"};
    }
    const std::int64_t missing = std::max<std::int64_t>(request - m.free.value_or(0), 0);
    const bool free_is_enough = f.requested && m.free && *m.free >= request;
    // Memory that others hold is what is missing only if something is missing. A named process is told anyway.
    if (capacity > 0 && others >= missing && others > capacity / 20 && (!free_is_enough || !m.neighbours.empty())) {
        std::string who = "other processes hold";
        if (m.neighbours.size() == 1) who = "process " + std::to_string(m.neighbours.front().pid) + " holds";
        else if (!m.neighbours.empty()) who = std::to_string(m.neighbours.size()) + " other processes hold";
        return {OomCause::neighbour, asked + "; " + who + " " + format_bytes(others) + " of " + format_bytes(capacity) +
                                         (m.reserved ? ", this one " + format_bytes(*m.reserved) : "")};
    }
    const bool has_figures = f.requested || m.allocated || m.free;
    if (!has_figures && context.at_start && context.at_start->free && context.at_start->capacity) {
        const MemoryReading& start = *context.at_start;
        const std::int64_t taken = *start.capacity - *start.free - start.reserved.value_or(0);
        if (taken > *start.capacity / 2) {
            return {OomCause::neighbour, "when the attempt began, others held " + format_bytes(taken) + " of " +
                                             format_bytes(*start.capacity) + " and " + format_bytes(*start.free) + " were free"};
        }
    }
    if (workspace) {
        const auto part = find_telling_part({}, failure.message);
        return {OomCause::workspace, std::string{"a library's temporary "} +
                                         (part && part->family && part->family->is_guess ? "probably " : "") +
                                         "did not fit: " + detail::words_that_tell(failure.message)};
    }
    if (free_is_enough) {
        return {OomCause::unknown,
                asked + " while " + format_bytes(*m.free) + " were free; the message does not say why that was not enough"};
    }
    if (const std::int64_t unaccounted = detail::bytes_of_nobody(f); unaccounted > 0)
        return {OomCause::unknown,
                asked + "; the message does not say who holds " + format_bytes(unaccounted) + " of " + format_bytes(capacity)};
    const bool is_mostly_outside = m.allocated && f.process && *f.process - *m.allocated > *m.allocated + capacity / 10;
    const std::optional<std::int64_t> own = m.allocated && !is_mostly_outside ? m.allocated : f.process;
    if (has_figures && capacity > 0 && own) {
        return {OomCause::capacity, asked + " on top of the " + format_bytes(*own) + " that the process " +
                                        (m.allocated && !is_mostly_outside ? "has in use" : "holds") + " of " + format_bytes(capacity) +
                                        (m.free ? "; " + format_bytes(*m.free) + " were free" : "")};
    }
    if (f.requested && !m.free && own) {
        return {OomCause::unknown, asked + " on top of the " + format_bytes(*own) +
                                       " that the process has in use; the message does not say how large the device is"};
    }
    if (f.requested)
        return {OomCause::unknown,
                asked + (m.free ? "; " + format_bytes(*m.free) + (capacity > 0 ? " of " + format_bytes(capacity) : "") + " were free"
                                : "; the message gives no other figure")};
    if (failure.message.empty()) return {OomCause::unknown, "no message was kept"};
    return {OomCause::unknown, has_figures ? "the message gives too few figures" : "the message gives no figures"};
}

inline void explain_oom(Failure& failure, const OomContext& context) {
    if (!is_memory(failure.kind)) return;
    if (failure.kind == FailureKind::predicted_oom) {
        if (!failure.cause) failure.cause = OomCause::capacity;
        return;
    }
    OomDiagnosis diagnosis = diagnose_oom(failure, context);
    failure.cause = diagnosis.cause;
    failure.evidence = std::move(diagnosis.evidence);
}

}  // namespace hpo
