// SPDX-License-Identifier: MIT
#include "tune/prediction/guarded.hpp"

#include "hpo/worker/supervisor/pool_config.hpp"
#include "support/text.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/prediction/survey.hpp"

namespace hpo::tune {

GuardedCount count_guarded(Settings& settings, const SpaceCount& count) {
    GuardedCount result;
    result.guard = settings.text("guard");
    result.capacity_bytes = device_budget(settings);
    static_cast<void>(settings.policies());  // each is wrong or right, whatever the guard says
    result.keeps_all = !result.capacity_bytes || result.guard == "unlimited";
    if (result.keeps_all) return result;
    try {
        const TrainerInfo info = describe_trainer(settings);
        require_plan(settings, info);
        Estimator estimator{settings,
                            info,
                            {.guard = result.guard,
                             .device = estimated_device(settings, info),
                             .capacity_bytes = result.capacity_bytes,
                             .answer_timeout = worker::PoolConfig{}.prediction_timeout}};
        const Survey found = survey(estimator, settings, info, count, {});
        result.sampled = found.sampled;
        result.looked_at = found.counts.all();
        result.shrunk = found.counts.smaller;
        result.refused = found.counts.never;
        result.unpredicted = found.counts.unknown;
        if (!found.complete && (!found.sampled || result.looked_at == 0))
            result.problem = "time ran out before every combination was checked";
        for (const std::string& remark : estimator.remarks()) result.remark += (result.remark.empty() ? "" : "; ") + remark;
    } catch (const Error& error) {
        result.problem = error.what();
    }
    return result;
}

std::string GuardedCount::text() const {
    std::string start = "guard " + guard;
    if (keeps_all) {
        return start + " keeps all" + (guard == "unlimited" ? "" : ": there is no --device-memory to compare its predictions with");
    }
    start += " with " + format_bytes(*capacity_bytes);
    if (!problem.empty()) return start + ": not counted: " + problem;
    const auto share = [&](std::uint64_t part) {
        return sampled ? tools::percent(static_cast<double>(part) / static_cast<double>(looked_at)) : std::to_string(part);
    };
    std::string text = start + " keeps " + share(kept()) + " of " +
                       (sampled ? "the proposals, estimated from " + std::to_string(looked_at) + " random draws"
                                : std::to_string(looked_at) + " combinations");
    if (shrunk > 0) text += ", " + share(shrunk) + " of them with a smaller micro-batch";
    if (unpredicted > 0) text += ", " + share(unpredicted) + " of them without a prediction";
    if (refused > 0) text += (shrunk + unpredicted > 0 ? ", and refuses " : " and refuses ") + share(refused);
    return text + (remark.empty() ? "" : "\npredictions: " + remark);
}

}  // namespace hpo::tune
