// SPDX-License-Identifier: MIT
#include "hpo/analysis/rules/wait_record.hpp"

#include <cstddef>
#include <span>
#include <string>

#include "hpo/failure/retry_words.hpp"

namespace hpo::analysis {

WaitRecord wait_record(std::span<const Trial> trials) {
    WaitRecord record;
    for (const Trial& trial : trials) {
        if (!is_finished(trial.state)) continue;
        for (std::size_t i = 0; i + 1 < trial.attempts.size(); ++i) {
            const Attempt& attempt = trial.attempts[i];
            if (!attempt.failure || attempt.failure->cause != OomCause::neighbour) continue;
            if (attempt.decision.find(waits_for_free_memory) == std::string::npos) continue;
            ++record.retries;
            record.helped += trial.attempts[i + 1].failure ? 0 : 1;
        }
    }
    return record;
}

}  // namespace hpo::analysis
