// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/worker/supervisor/process.hpp"
#include "hpo/worker/supervisor/slot.hpp"

namespace hpo::worker {

/// How a worker ended, as far as its supervisor saw it.
struct Death {
    ProcessExit exit;
    std::string complaint;  ///< why the supervisor ended it, or what it said before it ended; empty: it ended by itself
    std::string last_words;
    std::optional<bool> host_memory_was_short{};  ///< ProcessEnd::host_memory_was_short
    bool was_signalled = false;                   ///< true if its supervisor sent it a signal
    double seconds = 0;                           ///< since its attempt began
};

/// The failure of the attempt that died with its worker.
[[nodiscard]] Failure explain_death(const Death& death);

/// The error of a pool whose first worker died before it was ready.
[[nodiscard]] inline Error cannot_start(const std::string& trainer, const Failure& death) {
    const std::string why = death.message + (death.traceback.empty() ? "" : "\n" + death.traceback);
    return Error{Errc::plugin, death.kind == FailureKind::lost_worker ? why : "trainer " + trainer + ": " + why};
}

/// The outcome of an attempt whose worker died.
[[nodiscard]] AttemptOutcome outcome_of_death(const Running& running, const Death& death);

/// The outcome that a trainer returned. It becomes a failure if it contradicts what the trainer was asked.
[[nodiscard]] AttemptOutcome checked_outcome(const Running& running, AttemptOutcome outcome);

}  // namespace hpo::worker
