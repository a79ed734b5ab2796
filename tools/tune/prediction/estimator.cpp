// SPDX-License-Identifier: MIT
#include "tune/prediction/estimator.hpp"

#include <algorithm>
#include <span>

#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "hpo/store/sqlite/stored_predictions.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/parallelism.hpp"
#include "tune/device/worker_config.hpp"
#include "tune/settings/proposals.hpp"

namespace hpo::tune {
namespace {

registry::AnyMemoryGuard make_guard(const std::string& text) {
    const registry::Registries registries = registry::builtin_registries();
    return registries.guards.make("guard", registry::parse_policy_spec("guard", text));
}

}  // namespace

Estimator::Estimator(const Settings& settings, const TrainerInfo& info, Options options)
    : settings_{settings}, info_{info}, options_{std::move(options)}, guard_{make_guard(options_.guard)} {
    if (guard_.evidence() == Evidence::none) return;
    worker::PoolConfig config = question_config(settings, info_, options_.device);
    config.device_name = device_name(options_.device);
    if (options_.measured && guard_.carries()) measured_ = options_.measured(config.device_name);
    if (options_.answer_timeout) config.profile_timeout = config.prediction_timeout = *options_.answer_timeout;
    config.note = options_.note;
    config.threads = parallelism(settings, options_.device).threads;  // as a run's workers have: they share predictions
    if (store::StoredPredictions* const kept = options_.kept) {
        config.recall = [kept](const std::string& key) { return kept->find(key); };
        config.keep = [kept](const std::string& key, const std::string& text) { kept->keep(key, text); };
    }
    pool_ = std::make_unique<worker::Pool>(std::move(config));
}

Estimator::~Estimator() = default;

std::int64_t Estimator::predictions_made() const { return pool_ ? pool_->predictions_made() : 0; }

std::size_t Estimator::learned() const {
    return static_cast<std::size_t>(std::ranges::count_if(measured_, [&](const Attempt& attempt) {
        const auto residual = guard::residual_of(ParamSet{}, attempt);
        return residual && pools_.contains(residual->group.pool);
    }));
}

std::optional<guard::NamedLaw> Estimator::law() const {
    if (options_.trials.empty() && options_.same_program.empty()) return std::nullopt;
    const History history{.study = {},
                          .directions = {},
                          .trials = options_.trials,
                          .rejections = {},
                          .other_studies = {},
                          .same_program = options_.same_program};
    return guard::LearnedPeaks{}.law(history, device_name(options_.device));
}

ExecutionPlan Estimator::plan(const ParamSet& params) const { return first_plan(settings_, info_, params, options_.device); }

Forecast Estimator::forecast(const ParamSet& params, const ExecutionPlan& plan) {
    const MemoryEvidence known = pool_ ? pool_->evidence(params, plan, guard_.evidence()) : MemoryEvidence{};
    if (known.cannot_run)
        throw Error{Errc::plugin, "trainer " + info_.name + ": this configuration cannot run on " + options_.device + ": " + known.remark};
    // The study's own trials are among the attempts of all studies: they count once.
    const bool has_own = !known.profile && !options_.trials.empty();
    const std::span<const Trial> own = has_own ? std::span<const Trial>{options_.trials} : std::span<const Trial>{};
    const std::span<const Attempt> others = has_own ? std::span<const Attempt>{} : std::span<const Attempt>{measured_};
    const bool borrows = !known.profile && guard_.carries();
    const std::span<const Trial> same_program = borrows ? std::span<const Trial>{options_.same_program} : std::span<const Trial>{};
    const History history{
        .study = {}, .directions = {}, .trials = own, .rejections = {}, .other_studies = others, .same_program = same_program};
    Forecast forecast{.estimate = guard_.estimate({.params = params,
                                                   .plan = plan,
                                                   .profile = known.profile ? &*known.profile : nullptr,
                                                   .capacity_bytes = options_.capacity_bytes,
                                                   .history = history,
                                                   .prediction = known.prediction ? &*known.prediction : nullptr,
                                                   .runs_on = pool_ ? pool_->runs_on() : RunsOn{}}),
                      .remark = known.remark};
    if (!guard::is_prediction(forecast.estimate)) forecast.estimate.need.reset();
    ++(forecast.estimate.need ? known_ : unknown_);
    if (pool_) pools_.insert(guard::residual_group(forecast.estimate.source, pool_->runs_on(), params, plan).pool);
    if (known.prediction) {
        forecast.predicted = true;
        forecast.uncertainty = known.prediction->uncertainty;
        forecast.upper_bound = known.prediction->upper_bound;
        forecast.remark = known.prediction->remark;
    }
    if (!forecast.estimate.need && (info_.peak_sources.empty() || guard_.evidence() == Evidence::none)) forecast.remark = why_unknown();
    if (!forecast.remark.empty()) {
        std::string kind = forecast.remark;  // one that differs in its figures alone says the same
        std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
        if (remark_kinds_.insert(std::move(kind)).second) remarks_.insert(forecast.remark);
    }
    return forecast;
}

std::string Estimator::why_unknown() const {
    if (guard_.evidence() == Evidence::none) return "the guard " + options_.guard + " makes no predictions";
    if (!learns())
        return "the guard " + options_.guard + " cannot predict trainer " + info_.name +
               ", which has neither a dry run nor a probe; a run with the guard calibrated learns what its trials take";
    if (!options_.capacity_bytes) return "the guard " + options_.guard + " needs the memory of the device: give --device-memory";
    return "too few trials of " + settings_.text("store") + " show what they take; a run with the guard calibrated learns it";
}

bool Estimator::can_split(const ExecutionPlan& plan) const {
    return plan.effective_micro_batch() && std::ranges::find(info_.levers, "micro_batch") != info_.levers.end();
}

std::optional<bool> Estimator::fits(const ParamSet& params, const ExecutionPlan& plan) {
    const auto need = forecast(params, plan).estimate.need;
    if (!need) return std::nullopt;
    return !options_.capacity_bytes || *need <= *options_.capacity_bytes;
}

Fit Estimator::fit(const ParamSet& params) {
    ExecutionPlan tried = plan(params);
    const auto whole = fits(params, tried);
    if (!whole) return Fit::unknown;
    if (*whole) return Fit::as_it_is;
    const auto micro = tried.effective_micro_batch();
    if (!can_split(tried) || *micro <= 1) return Fit::never;
    tried.micro_batch = 1;
    const auto least = fits(params, tried);
    return !least ? Fit::unknown : *least ? Fit::smaller : Fit::never;
}

std::optional<LargestMicroBatch> Estimator::largest_micro_batch(const ParamSet& params) {
    const ExecutionPlan first = plan(params);
    if (!can_split(first) || !options_.capacity_bytes) return std::nullopt;
    const auto with = [&](std::int64_t micro) {
        ExecutionPlan tried = first;
        tried.effective_batch = std::max(micro, first.effective_batch.value_or(micro));
        tried.micro_batch = micro;
        return tried;
    };
    const auto holds = [&](std::int64_t micro) { return fits(params, with(micro)).value_or(false); };
    // Where a step is one pass, need grows with it; where it is several, all gradients are kept beside a pass: searched apart.
    const std::int64_t whole = first.effective_batch.value_or(1);
    std::int64_t good = whole;
    std::int64_t bad = most_examples + 1;
    if (!holds(whole)) {
        if (whole == 1 || !holds(1)) return std::nullopt;
        good = 1;
        bad = whole;
    }
    while (bad - good > 1) {
        const std::int64_t tried = bad > most_examples ? std::min(2 * good, most_examples) : good + (bad - good) / 2;
        (holds(tried) ? good : bad) = tried;
    }
    if (good < most_examples) return LargestMicroBatch{good};
    // From where on need is what it is at the end: each further example makes a step's need larger until all are in it.
    const auto needs = [&](std::int64_t micro) { return forecast(params, with(micro)).estimate.need; };
    const auto most = needs(most_examples);
    if (needs(most_examples / 2) != most || whole >= most_examples) return LargestMicroBatch{most_examples};
    std::int64_t less = whole - 1;
    while (good - less > 1) {
        const std::int64_t tried = less + (good - less) / 2;
        (needs(tried) == most ? good : less) = tried;
    }
    return LargestMicroBatch{good, true};
}

}  // namespace hpo::tune
