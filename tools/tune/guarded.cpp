// SPDX-License-Identifier: MIT
#include "guarded.hpp"

#include <chrono>
#include <cmath>

#include "hpo/memory/admission.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/worker/pool.hpp"
#include "proposals.hpp"
#include "surroundings.hpp"

namespace hpo::tune {
namespace {

constexpr std::uint64_t most = 500;  ///< questions to the guard

/// Holds one proposal after the other against the guard.
class Examiner {
public:
    Examiner(const Settings& settings, const registry::AnyMemoryGuard& guard, GuardedCount& result)
        : settings_{settings}, guard_{guard}, result_{result}, info_{describe_trainer(settings)}, device_{chosen_device(settings, info_)} {
        require_plan(settings, info_);
        if (guard.evidence() == Evidence::none) return;
        pool_.emplace(
            worker::PoolConfig{.worker_program = worker_program(),
                               .trainer = info_.name,
                               .plugin_folders = plugin_folders(settings.arguments().plugin_dirs),
                               .options = {settings.description().trainer_options.begin(), settings.description().trainer_options.end()},
                               .metric = settings.description().objectives[0].metric,
                               .device = device_});
    }
    /// False when time is up.
    bool examine(const ParamSet& params) {
        const ExecutionPlan plan = first_plan(settings_, info_, params, device_);
        const History nothing{};
        const Admission admission =
            admit(guard_, AdmissionQuery{params, plan, result_.capacity_bytes, nothing},
                  [&](const ExecutionPlan& tried) { return pool_ ? pool_->evidence(params, tried, guard_.evidence()) : MemoryEvidence{}; });
        ++result_.looked_at;
        if (admission.answer == Admission::Answer::infeasible) ++result_.refused;
        else if (admission.answer == Admission::Answer::shrink) ++result_.shrunk;
        else if (!admission.estimate.need) ++result_.unpredicted;
        return std::chrono::steady_clock::now() < deadline_;
    }

private:
    const Settings& settings_;
    const registry::AnyMemoryGuard& guard_;
    GuardedCount& result_;
    TrainerInfo info_;
    std::string device_;
    std::optional<worker::Pool> pool_;
    std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds{25};
};

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
    return std::to_string(std::lround(100.0 * static_cast<double>(part) / static_cast<double>(whole))) + " %";
}

}  // namespace

GuardedCount count_guarded(const Settings& settings, const SpaceCount& count) {
    GuardedCount result;
    result.guard = settings.text("guard");
    result.capacity_bytes = device_budget(settings);
    const AnyPolicies policies = settings.policies();
    result.keeps_all = !result.capacity_bytes || result.guard == "unlimited";
    if (result.keeps_all) return result;
    try {
        Examiner examiner{settings, policies.guard, result};
        const Space space = settings.script().space();
        result.sampled = !count.exact || !count.continuous.empty() || count.combinations > most;
        if (!result.sampled) {
            bool in_time = true;
            (void)for_each_combination(space, most + count.refused, [&](const ParamSet& params, bool refused) {
                if (!refused && in_time) in_time = examiner.examine(params);
            });
            if (result.looked_at == count.combinations) return result;
            result.problem = "no answer for each combination in time";
            return result;
        }
        sampler::Random random;
        const History nothing{settings.description().name, {}, {}, {}};
        for (std::uint64_t draw = 0; draw < most; ++draw) {
            const TrialContext context{static_cast<std::int64_t>(draw), nothing};
            if (!examiner.examine(suggest_params(random, space, context, Seed{0}))) break;
        }
    } catch (const Error& error) {
        result.problem = error.what();
    }
    return result;
}

std::string GuardedCount::text() const {
    std::string start = "guard " + guard;
    if (keeps_all) {
        return start + " keeps all" + (guard == "unlimited" ? "" : ": there is no --device-memory to hold its predictions against");
    }
    start += " with " + format_bytes(*capacity_bytes);
    if (!problem.empty()) return start + ": not counted: " + problem;
    const auto share = [&](std::uint64_t part) { return sampled ? percent_of(part, looked_at) : std::to_string(part); };
    std::string text = start + " keeps " + share(kept()) + " of " +
                       (sampled ? "the proposals, estimated from " + std::to_string(looked_at) + " random draws"
                                : std::to_string(looked_at) + " combinations");
    if (shrunk > 0) text += "; " + share(shrunk) + " with a smaller micro-batch";
    if (refused > 0) text += "; " + share(refused) + " refused";
    if (unpredicted > 0) text += "; " + share(unpredicted) + " without a prediction";
    return text;
}

std::string GuardedCount::json() const {
    const auto known = [&](std::uint64_t figure) { return keeps_all || !problem.empty() ? std::string{"null"} : std::to_string(figure); };
    return "{\"policy\": " + json_quote(guard) + ", \"capacity_bytes\": " + (capacity_bytes ? std::to_string(*capacity_bytes) : "null") +
           ", \"keeps_all\": " + (keeps_all ? "true" : "false") + ", \"of\": " + known(looked_at) +
           ", \"random_draws\": " + (sampled ? "true" : "false") + ", \"kept\": " + known(kept()) +
           ", \"smaller_micro_batch\": " + known(shrunk) + ", \"refused\": " + known(refused) + ", \"unpredicted\": " + known(unpredicted) +
           ", \"problem\": " + (problem.empty() ? "null" : json_quote(problem)) + "}";
}

}  // namespace hpo::tune
