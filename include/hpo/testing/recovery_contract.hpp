// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/recovery/concept.hpp"
#include "hpo/testing/contract_report.hpp"

namespace hpo::testing {

/// The rules for every recovery policy. `make()` returns a new one each time. A trial's attempts fail with each kind of failure and each
/// cause until the policy ends the trial.
template <std::invocable Make>
requires RecoveryPolicy<std::invoke_result_t<Make>>
[[nodiscard]] ContractReport recovery_contract(const Make& make) {
    static constexpr int too_many = 1000;
    ContractReport report;
    const History history{};
    const auto same = [](const Recovery& a, const Recovery& b) {
        return a.action == b.action && a.plan == b.plan && a.params == b.params && a.fresh_worker == b.fresh_worker && a.reason == b.reason;
    };
    std::vector<std::optional<OomCause>> causes{std::nullopt};
    for (std::size_t i = 0; i < oom_cause_names.size(); ++i) causes.emplace_back(static_cast<OomCause>(i));
    for (std::size_t kind = 0; kind < failure_kind_names.size(); ++kind) {
        for (const auto& cause : causes) {
            for (const std::optional<std::int64_t> batch : {std::optional<std::int64_t>{}, {1}, {64}, {100'003}}) {
                const std::string place = " (" + std::string{failure_kind_names[kind]} + ")";
                try {
                    auto policy = make();
                    Trial trial;
                    ExecutionPlan plan;
                    plan.effective_batch = batch;
                    Recovery answer;
                    do {
                        Attempt& attempt = trial.attempts.emplace_back();
                        attempt.index = static_cast<int>(trial.attempts.size()) - 1;
                        attempt.plan = plan;
                        attempt.outcome = OutcomeKind::failed;
                        attempt.failure = Failure{};
                        attempt.failure->kind = static_cast<FailureKind>(kind);
                        attempt.failure->cause = cause;
                        const FailedAttempt failed{trial, attempt, *attempt.failure, history};
                        answer = policy.recover(failed);
                        auto twin = make();
                        auto moved = std::move(twin);
                        report.expect(same(moved.recover(failed), answer), "the same failure gives the same answer" + place);
                        report.expect(!answer.reason.empty(), "an answer has its reason" + place);
                        attempt.decision = answer.reason;
                        if (answer.action != Recovery::Action::retry) break;
                        report.expect(answer.plan.effective_batch == batch || answer.params, "a retry keeps the effective batch" + place);
                        const auto micro = answer.plan.effective_micro_batch();
                        report.expect(!micro || *micro >= 1, "a micro-batch is at least 1" + place);
                        report.expect(answer.plan != plan || answer.params || answer.fresh_worker || answer.wait_seconds ||
                                          answer.pause_seconds > 0 || answer.alone || !is_memory(attempt.failure->kind),
                                      "a retry after a memory failure changes something" + place);
                        plan = answer.plan;
                    } while (trial.attempts.size() < too_many);
                    report.expect(answer.action != Recovery::Action::retry, "a trial that always fails ends" + place);
                } catch (const std::exception& error) {
                    report.expect(false, "no answer throws" + place + ": " + error.what());
                }
            }
        }
    }
    return report;
}

}  // namespace hpo::testing
