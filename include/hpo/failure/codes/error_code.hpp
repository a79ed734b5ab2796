// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/core/failure.hpp"
#include "hpo/failure/blame.hpp"

namespace hpo {

/// What an error of CUDA, of one of its libraries or of the driver does to the process that met it.
enum class ErrorClass {
    memory,     ///< the allocation failed; the context still works
    transient,  ///< the call failed; the context still works, or works again later
    sticky,     ///< every later call fails, too: the process has to end
    hardware,   ///< the device should not be used any more
    permanent,  ///< the same call can never succeed on this machine
};

/// What an error means for recovery.
struct ErrorMeaning {
    ErrorClass what;
    Blame blame;
    Recurrence recurrence;
    friend constexpr bool operator==(const ErrorMeaning&, const ErrorMeaning&) = default;
};

/// The meanings that the tables of error codes use.
namespace error_meaning {

inline constexpr ErrorMeaning no_memory{ErrorClass::memory, Blame::own, Recurrence::unknown};
/// An argument that the call does not take. The trainer's code passes it again.
inline constexpr ErrorMeaning wrong_call{ErrorClass::transient, Blame::own, Recurrence::deterministic};
/// Something that another process or the driver does at the moment.
inline constexpr ErrorMeaning passing{ErrorClass::transient, Blame::device, Recurrence::transient};
/// A kernel that did what it must not.
inline constexpr ErrorMeaning kernel_fault{ErrorClass::sticky, Blame::own, Recurrence::unknown};
/// An assert in a kernel. An index or a label was out of range, so it comes again.
inline constexpr ErrorMeaning kernel_assert{ErrorClass::sticky, Blame::own, Recurrence::deterministic};
/// A context or a handle that can do nothing more, for whatever reason.
inline constexpr ErrorMeaning lost_context{ErrorClass::sticky, Blame::unknown, Recurrence::unknown};
/// A wrong call after which the handle can do nothing more.
inline constexpr ErrorMeaning wrong_use{ErrorClass::sticky, Blame::own, Recurrence::deterministic};
/// Another process of the same group failed first.
inline constexpr ErrorMeaning lost_peer{ErrorClass::sticky, Blame::neighbour, Recurrence::transient};
/// An error of the device that ends the process and leaves the device usable.
inline constexpr ErrorMeaning contained{ErrorClass::sticky, Blame::device, Recurrence::transient};
inline constexpr ErrorMeaning broken_device{ErrorClass::hardware, Blame::device, Recurrence::unknown};
/// A driver, a library or a device that does not fit the program.
inline constexpr ErrorMeaning unfit_machine{ErrorClass::permanent, Blame::host, Recurrence::deterministic};

}  // namespace error_meaning

/// One error of a table: the number that the library returns, and its name as programs print it.
struct ErrorCode {
    std::int64_t code;
    std::string_view name;
    ErrorMeaning meaning;
    std::string_view text{};  ///< as the library words it; empty: programs print the name
};

/// The kind of failure for an error of this class.
[[nodiscard]] constexpr FailureKind failure_kind_of(ErrorClass what) {
    switch (what) {
        case ErrorClass::memory: return FailureKind::out_of_memory;
        case ErrorClass::transient: return FailureKind::cuda_transient;
        case ErrorClass::sticky: return FailureKind::cuda_sticky;
        case ErrorClass::hardware: return FailureKind::hardware;
        case ErrorClass::permanent: return FailureKind::environment;
    }
    return FailureKind::trainer_error;
}

/// True if a process that met an error of this class can do nothing more on the device.
[[nodiscard]] constexpr bool ends_process(ErrorClass what) { return what == ErrorClass::sticky || what == ErrorClass::hardware; }

}  // namespace hpo
