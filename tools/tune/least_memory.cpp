// SPDX-License-Identifier: MIT
#include "least_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hpo/core/bytes.hpp"
#include "hpo/memory/admission.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/worker/pool.hpp"
#include "proposals.hpp"
#include "text.hpp"

namespace hpo::tune {

std::optional<std::string> nothing_fits(const Settings& settings, const TrainerInfo& info, worker::Pool& pool,
                                        const registry::AnyMemoryGuard& guard, const std::string& device) {
    const auto capacity = pool.capacity_bytes();
    if (!capacity || guard.evidence() == Evidence::none) return std::nullopt;
    constexpr std::int64_t most = 500;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    const History nothing{};
    std::optional<std::int64_t> least;
    ParamSet smallest;
    std::size_t looked_at = 0;
    for (const ParamSet& params : draw_proposals(settings, most)) {
        const ExecutionPlan plan = first_plan(settings, info, params, device);
        ExecutionPlan checkpointing = plan;
        checkpointing.activation_checkpointing = true;
        const bool shrinks = std::find(info.levers.begin(), info.levers.end(), "micro_batch") != info.levers.end();
        const Admission admission = admit(guard,
                                          AdmissionQuery{.params = params,
                                                         .plan = plan,
                                                         .capacity_bytes = capacity,
                                                         .history = nothing,
                                                         .least_micro_batch = shrinks ? 1 : std::numeric_limits<std::int64_t>::max(),
                                                         .may_checkpoint = !missing_lever(plan, checkpointing, info.levers),
                                                         .runs_on = pool.runs_on()},
                                          [&](const ExecutionPlan& tried) { return pool.evidence(params, tried, guard.evidence()); });
        if (admission.answer != Admission::Answer::infeasible) return std::nullopt;
        ++looked_at;
        if (!least || *admission.estimate.need < *least) {
            least = admission.estimate.need;
            smallest = params;
        }
        if (std::chrono::steady_clock::now() > deadline) break;
    }
    std::string values;
    for (const Param& param : smallest) values += (values.empty() ? "" : " ") + param.name + "=" + display_text(param.value());
    return "a device of " + format_bytes(*capacity) + " is too small: guard " + settings.text("guard") + " refuses each of " +
           std::to_string(looked_at) + " random proposals; the smallest needs " + format_bytes(*least) + " (" + values +
           "); give --device-memory at least that, or widen the space";
}

}  // namespace hpo::tune
