// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "hpo/recovery/concept.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/script/recovery_answer.hpp"
#include "hpo/script/retry_words.hpp"
#include "hpo/script/study_script.hpp"

namespace hpo::script {

/// The rules of a script before another policy: what on_oom or on_failure answers counts, and where they say nothing the
/// wrapped policy decides. A rule that fails ends its trial, with the script's error as the reason, and not the study.
template <RecoveryPolicy R>
class ScriptRecovery {
public:
    ScriptRecovery(StudyScript script, R otherwise) : script_{std::move(script)}, otherwise_{std::move(otherwise)} {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        try {
            if (auto answer = script_.answer(failed)) {
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
