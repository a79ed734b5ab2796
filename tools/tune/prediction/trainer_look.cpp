// SPDX-License-Identifier: MIT
#include "tune/prediction/trainer_look.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/time.hpp"
#include "hpo/device/host_memory.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "support/text.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/worker_config.hpp"
#include "tune/display/text.hpp"
#include "tune/prediction/least_memory.hpp"
#include "tune/settings/proposals.hpp"

namespace hpo::tune {
namespace {

/// A plan for at most two examples.
ExecutionPlan of_two_examples(ExecutionPlan plan) {
    if (const auto micro = plan.effective_micro_batch()) plan.effective_batch = plan.micro_batch = std::min<std::int64_t>(2, *micro);
    return plan;
}

/// The problem without its figures and configuration, so that the same one under other values counts once.
std::string kind_of(const std::string& problem) {
    std::string text = problem.substr(0, problem.find("; configuration: "));
    std::erase_if(text, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
    return text;
}

/// A proposal, and what its shapes say.
struct LookedAt {
    ParamSet params;
    ShapesAnswer shapes;
};

class Look {
public:
    Look(const Settings& settings, const TrainerInfo& info, const LookDevices& devices)
        : settings_{settings}, info_{info}, devices_{devices}, given_{device_budget(settings)} {}

    TrainerLook at(const std::vector<ParamSet>& drawn) {
        constexpr std::size_t most = 20;
        std::vector<ParamSet> asked = representatives(drawn);
        for (ParamSet& params : extremes(settings_)) asked.push_back(std::move(params));
        for (std::size_t i = 0; i < drawn.size() && asked.size() < most; ++i) asked.push_back(drawn[i]);
        worker::PoolConfig config = question_config(settings_, info_, devices_.predictions);
        config.device_budget_bytes = given_;
        worker::Pool questions{std::move(config)};
        const Stopwatch watch;
        std::vector<LookedAt> proposals;
        for (const ParamSet& params : asked) {
            const auto shapes_on = [&](const std::string& device) {
                return watch.seconds() > look_seconds.count()
                           ? ShapesAnswer{}
                           : look_at_shapes(questions, params, first_plan(settings_, info_, params, device));
            };
            LookedAt each{params, shapes_on(devices_.predictions)};
            if (devices_.steps != devices_.predictions) each.shapes.need_bytes = shapes_on(devices_.steps).need_bytes;
            if (each.shapes.cannot_run.empty()) proposals.push_back(std::move(each));
            else add_problem("cannot run on " + devices_.predictions + ": " + each.shapes.cannot_run);
        }
        // Whose need is not known comes last, because it may be large.
        std::ranges::stable_sort(
            proposals, {}, [](const LookedAt& each) { return each.shapes.need_bytes.value_or(std::numeric_limits<std::int64_t>::max()); });
        make_real_steps(proposals);
        if (info_.libtorch_version.empty()) {
            add_remark("not looked at: data, a batch, a loss and gradients, beyond what trainer " + info_.name +
                       " checks itself; only a trainer with LibTorch shows them");
        }
        if (too_large_ == 0) tell_fit(questions, drawn);
        else tell_too_large();
        return std::move(found_);
    }

private:
    void add_problem(const std::string& text) {
        if (kinds_.insert(kind_of(text)).second) found_.problems.push_back("trainer " + info_.name + ": " + text);
    }
    void add_remark(const std::string& text) {
        if (std::ranges::find(found_.remarks, text) == found_.remarks.end()) found_.remarks.push_back(text);
    }

    /// The smallest first, so that the bounds allow as many as possible.
    void make_real_steps(const std::vector<LookedAt>& proposals) {
        worker::PoolConfig config = pool_config(settings_, info_);
        config.device = devices_.steps;
        config.device_budget_bytes = on_gpu_ ? given_ : std::min(given_.value_or(most_), most_);
        worker::Pool pool{std::move(config)};
        const std::string limit = std::to_string(look_seconds.count()) + " s that check has for real steps";
        Stopwatch watch;  // of the steps after the first
        for (std::size_t i = 0; i < proposals.size(); ++i) {
            const LookedAt& each = proposals[i];
            if (const std::int64_t need = each.shapes.need_bytes.value_or(0); !on_gpu_ && std::min(need, given_.value_or(need)) > most_) {
                return tell_rest(proposals, i,
                                 "a step of two examples takes " + format_bytes(need) + ", and check takes at most " + format_bytes(most_));
            }
            const std::chrono::milliseconds left{static_cast<std::int64_t>(1000 * (look_seconds.count() - watch.seconds()))};
            if (i > 0 && left.count() <= 0) return tell_rest(proposals, i, "the " + limit + " were over");
            const bool first = i == 0;  // one that does not end in time throws: nothing could be looked at
            const auto timeout = first ? std::nullopt : std::optional{std::min(left, settings_.plugin_timeout())};
            const worker::CheckAnswer answer = pool.check(each.params, first_plan(settings_, info_, each.params, devices_.steps), timeout);
            if (first) watch = Stopwatch{};
            if (!answer.in_time) {
                return tell_rest(proposals, i,
                                 left < settings_.plugin_timeout() ? "the " + limit + " were over, and this one had not ended"
                                                                   : "this one had not ended within --plugin-timeout");
            }
            ++real_steps_;
            if (answer.no_memory) tell_bound(each);
            if (first && answer.held_bytes.value_or(0) > 0) look_for_leak(pool, each, *answer.held_bytes);
            for (const TrainerProblem& problem : answer.problems) see(each, problem);
            for (const std::string& remark : answer.remarks) add_remark(remark);
        }
    }

    /// The same step again in the same worker: what is held once may be kept for good, what is held again is kept for each trial.
    void look_for_leak(worker::Pool& pool, const LookedAt& proposal, std::int64_t held) {
        if (held > worker::LeakWatch::most_one_time(given_)) {  // its worker is gone already
            add_remark("trainer " + info_.name + " keeps memory between trials: its process held " + format_bytes(held) +
                       " of the device after one step. A run replaces such a worker; expected to give back what a trial takes");
            return;
        }
        const auto again = pool.check(proposal.params, first_plan(settings_, info_, proposal.params, devices_.steps), look_seconds);
        const std::int64_t more = again.held_bytes.value_or(0) - held;
        if (more <= 0) return;
        add_remark("trainer " + info_.name + " keeps memory between trials: its process held " + format_bytes(held) +
                   " of the device after one step and " + format_bytes(held + more) +
                   " after the same step again. A run replaces such a worker; expected to give back what a trial takes");
    }

    void see(const LookedAt& proposal, const TrainerProblem& problem) {
        const std::string text = problem.where + ": " + problem.what;
        if (!is_memory(classify_text({.message = problem.what}).kind)) return add_problem(text);
        if (on_gpu_ || (given_ && *given_ <= most_)) {
            if (++too_large_ == 1) first_too_large_ = text;
            return;
        }
        tell_bound(proposal);
    }

    void tell_bound(const LookedAt& proposal) {
        add_remark("a real step of this proposal ended early, because check takes at most " + format_bytes(most_) + " for it (" +
                   summary_of(proposal.params) + ")");
    }

    /// Says that the proposals from `first` on made no real step, and what their shapes say.
    void tell_rest(const std::vector<LookedAt>& proposals, std::size_t first, const std::string& why) {
        const std::span<const LookedAt> rest = std::span{proposals}.subspan(first);
        const auto looked = static_cast<std::size_t>(std::ranges::count_if(rest, [](const LookedAt& each) { return each.shapes.looked; }));
        std::string parts;
        const auto add = [&](std::size_t count, const std::string& how) {
            if (count > 0) parts += (parts.empty() ? "" : ", ") + std::to_string(count) + how;
        };
        add(looked, " by the shapes alone");
        add(rest.size() - looked, " not at all");
        add_remark(tools::counted(proposals.size(), "proposal") + " looked at, of them " + parts + ": " + why + " (" +
                   summary_of(rest.front().params) + ")");
        std::set<std::string> told;
        for (const LookedAt& each : rest) {
            const std::string& error = each.shapes.error;
            if (error.empty() || !told.insert(kind_of(error)).second) continue;
            add_remark("a training without numbers ended with an error: " + error + " (" + summary_of(each.params) + ")");
        }
    }

    void tell_fit(worker::Pool& questions, const std::vector<ParamSet>& drawn) {
        const auto capacity = device_capacity(settings_, devices_.predictions);
        if (!capacity || !found_.problems.empty()) return;
        const registry::AnyMemoryGuard guard = settings_.policies().guard;
        const FitQuestion question{
            devices_.predictions, *capacity, {}, [](const std::string& text) { std::cerr << "hpo-tune: note: " << text << "\n"; }};
        if (const auto problem = nothing_fits(settings_, info_, questions, guard, question)) {
            found_.problems.push_back(*problem);
            return;
        }
        const std::string share = share_refused(settings_, info_, questions, guard, question, drawn);
        if (!share.empty()) add_remark(share);
    }

    void tell_too_large() {
        const std::string share = std::to_string(too_large_) + " of " + tools::counted(real_steps_, "proposal") +
                                  " looked at: a model and two examples do not fit the memory: " + first_too_large_;
        (too_large_ == real_steps_ ? found_.problems : found_.remarks).push_back(share);
    }

    const Settings& settings_;
    const TrainerInfo& info_;
    const LookDevices& devices_;
    std::optional<std::int64_t> given_;            ///< the study's memory
    const bool on_gpu_ = devices_.steps != "cpu";  ///< whose own memory bounds a step
    const std::int64_t most_ = most_real_step_bytes();
    TrainerLook found_;
    std::set<std::string> kinds_;  ///< of problems
    std::size_t real_steps_ = 0;
    std::size_t too_large_ = 0;
    std::string first_too_large_;
};

}  // namespace

std::int64_t most_real_step_bytes() {
    constexpr std::int64_t most = std::int64_t{4} << 30U;
    const auto host = device::host_memory();
    return host ? std::min(most, host->available / 2) : most;
}

ShapesAnswer look_at_shapes(worker::Pool& pool, const ParamSet& params, ExecutionPlan plan) {
    using Kind = worker::MemoryQuestions::Told::Kind;
    const auto told = pool.prediction(params, of_two_examples(std::move(plan)), PeakSource::dry_run);
    if (told.prediction) return {.need_bytes = told.prediction->need, .looked = true};
    if (told.kind == Kind::cannot_run) return {.cannot_run = told.why_not, .looked = true};
    return {.error = told.kind == Kind::error ? told.why_not : "", .looked = told.kind == Kind::error};
}

TrainerLook look_with_trainer(const Settings& settings, const TrainerInfo& info, const LookDevices& devices,
                              const std::vector<ParamSet>& drawn) {
    return Look{settings, info, devices}.at(drawn);
}

}  // namespace hpo::tune
