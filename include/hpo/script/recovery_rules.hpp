// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "hpo/recovery/concept.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/script/recovery_answer.hpp"
#include "hpo/script/study_script.hpp"

namespace hpo::script {

/// A rule's retry in words: "out of memory at micro-batch 64: retry at 32 with 2 accumulation steps". The rule's own reason follows:
/// "(rule: a quarter)".
[[nodiscard]] std::string retry_words(const FailedAttempt& failed, const Recovery& retry);

/// Asks the rules of a script (on_oom, on_failure) first, and another policy if they give no answer, or a retry that changes nothing. If a
/// rule itself fails, its trial ends with the script's error as the reason. The study continues.
template <RecoveryPolicy R>
class ScriptRecovery {
public:
    ScriptRecovery(StudyScript script, R otherwise) : script_{std::move(script)}, otherwise_{std::move(otherwise)} {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        try {
            if (auto answer = script_.answer(failed)) {
                if (!answer->note.empty()) {
                    Recovery decided = otherwise_.recover(failed);
                    decided.note = std::move(answer->note);
                    return decided;
                }
                if (answer->action == Recovery::Action::retry) answer->reason = retry_words(failed, *answer);
                return *std::move(answer);
            }
        } catch (const Error& error) {
            Recovery recovery;
            recovery.plan = failed.attempt.plan;
            recovery.reason = std::string{to_text(FailureKind::script_error)} + ": " + error.what();
            recovery.rule_error = error.what();
            return recovery;
        }
        return otherwise_.recover(failed);
    }

private:
    StudyScript script_;
    R otherwise_;
};

static_assert(RecoveryPolicy<ScriptRecovery<recovery::Fail>>);

}  // namespace hpo::script
