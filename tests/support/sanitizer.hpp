// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>

namespace hpo::test {

/// True in a build with AddressSanitizer or ThreadSanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// Why a test of refused memory cannot run then.
inline constexpr const char* no_bad_alloc = "with a sanitizer, operator new ends the process instead of throwing std::bad_alloc";

/// Programs that a test starts end by the signals that they raise, also with a sanitizer, which otherwise ends them with a report and a
/// status of its own. What the environment says already comes later, and so counts.
inline void leave_signals_to_programs() {
    for (const char* const name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
        const char* const given = std::getenv(name);
        const std::string options = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0";
        ::setenv(name, (given ? options + ":" + given : options).c_str(), 1);
    }
}

}  // namespace hpo::test
