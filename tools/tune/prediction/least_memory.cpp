// SPDX-License-Identifier: MIT
#include "tune/prediction/least_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hpo/base/bytes.hpp"
#include "hpo/base/time.hpp"
#include "hpo/guard/admission.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "tune/display/text.hpp"
#include "tune/settings/proposals.hpp"

namespace hpo::tune {
namespace {

/// The size in words that, read again, is no less.
std::string enough(std::int64_t bytes) {
    std::int64_t unit = 1;
    while (bytes / unit >= 1024) unit *= 1024;
    std::string words = format_bytes(bytes);
    for (std::int64_t more = unit / 100 + 1; parse_bytes(words).value_or(bytes) < bytes; more += unit / 100 + 1)
        words = format_bytes(bytes + more);
    return words;
}

/// What the guard says to a proposal in the smallest micro-batch that the trainer can do.
Admission least_admission(const Settings& settings, const TrainerInfo& info, worker::Pool& pool, const registry::AnyMemoryGuard& guard,
                          const FitQuestion& question, const ParamSet& params) {
    ExecutionPlan plan = first_plan(settings, info, params, question.device);
    ExecutionPlan checkpointing = plan;
    checkpointing.activation_checkpointing = true;
    const bool shrinks = std::find(info.levers.begin(), info.levers.end(), "micro_batch") != info.levers.end();
    if (shrinks && plan.effective_batch) plan.micro_batch = 1;  // where that does not fit, nothing larger does
    return admit(guard,
                 AdmissionQuery{.params = params,
                                .plan = plan,
                                .capacity_bytes = question.capacity_bytes,
                                .history = question.history,
                                .least_micro_batch = shrinks ? 1 : std::numeric_limits<std::int64_t>::max(),
                                .may_checkpoint = !missing_lever(plan, checkpointing, info.levers),
                                .runs_on = pool.runs_on()},
                 [&](const ExecutionPlan& tried) { return pool.evidence(params, tried, guard.evidence()); });
}

}  // namespace

std::optional<std::string> nothing_fits(const Settings& settings, const TrainerInfo& info, worker::Pool& pool,
                                        const registry::AnyMemoryGuard& guard, const FitQuestion& question) {
    if (guard.evidence() == Evidence::none) return std::nullopt;
    constexpr std::int64_t most = 500;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    std::optional<std::int64_t> least;
    ParamSet smallest;
    const std::vector<ParamSet> proposals = draw_proposals(settings, most);
    Stopwatch since_note;
    std::size_t looked_at = 0;
    for (const ParamSet& params : proposals) {
        if (question.stop_requested && question.stop_requested()) throw Error{Errc::interrupted, "interrupted before the first trial"};
        if (question.note && since_note.seconds() > 5) {
            question.note("none of " + std::to_string(looked_at) + " random proposals fits the device; up to " +
                          std::to_string(proposals.size()) + " are looked at");
            since_note = Stopwatch{};
        }
        ++looked_at;
        if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
        const Admission admission = least_admission(settings, info, pool, guard, question, params);
        if (admission.answer != Admission::Answer::infeasible) return std::nullopt;
        if (!least || *admission.estimate.need < *least) {
            least = admission.estimate.need;
            smallest = params;
        }
    }
    if (!least) return std::nullopt;
    return "a device of " + format_bytes(question.capacity_bytes) + " is too small: guard " + settings.text("guard") + " refuses each of " +
           std::to_string(proposals.size()) + " random proposals; the smallest needs " + enough(*least) + " (" + summary_of(smallest) +
           "); give --device-memory at least that, or widen the space";
}

std::string share_refused(const Settings& settings, const TrainerInfo& info, worker::Pool& pool, const registry::AnyMemoryGuard& guard,
                          const FitQuestion& question, const std::vector<ParamSet>& proposals) {
    if (guard.evidence() == Evidence::none) return {};
    const Stopwatch watch;
    std::size_t looked_at = 0;
    std::size_t refused = 0;
    for (const ParamSet& params : proposals) {
        if (watch.seconds() > 30) break;
        ++looked_at;
        const Admission admission = least_admission(settings, info, pool, guard, question, params);
        refused += admission.answer == Admission::Answer::infeasible ? 1 : 0;
    }
    if (refused == 0) return {};
    return std::to_string(refused) + " of " + std::to_string(looked_at) + " proposals do not fit a device of " +
           format_bytes(question.capacity_bytes) + ", as guard " + settings.text("guard") + " predicts; hpo-tune space counts them";
}

}  // namespace hpo::tune
