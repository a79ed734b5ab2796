// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/normal_quantile.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/space/space_trial.hpp"
#include "hpo/trainer/executor.hpp"

/// A simulated fine-tuning of encoders on one card of 24 GiB, whose best configurations need nearly all of it.
namespace bench::edge {

using hpo::ExecutionPlan;
using hpo::ParamSet;
using hpo::Value;

inline constexpr double gibibyte = 0x1.0p30;
inline constexpr auto capacity = static_cast<std::int64_t>(24 * gibibyte);

inline const hpo::Space space = [](hpo::SpaceTrial& trial) {
    trial.suggest_categorical("model", {Value{"base"}, Value{"large"}});
    trial.suggest_int("bs", 8, 128, {.step = 8});
    trial.suggest_categorical("seq", {std::int64_t{128}, std::int64_t{256}, std::int64_t{384}, std::int64_t{512}});
    trial.suggest_categorical("precision", {Value{"fp32"}, Value{"fp16"}});
    trial.suggest_categorical("checkpointing", {Value{"off"}, Value{"on"}});
    trial.suggest_float("lr", 1e-6, 1e-3, {.log = true});
    trial.suggest_float("wd", 1e-4, 1e-1, {.log = true});
    trial.suggest_float("dropout", 0, 0.5);
};

struct Settings {
    bool large = false;
    bool fp16 = false;
    bool checkpointing = false;
    double seq = 0;
    double batch = 0;
    explicit Settings(const ParamSet& params)
        : large{params.find("model")->internal == 1},
          fp16{params.find("precision")->internal == 1},
          checkpointing{params.find("checkpointing")->internal == 1},
          seq{*params.number("seq")},
          batch{*params.number("bs")} {}
};

/// Bytes of a step: 16 for each parameter, an encoder's activations (Korthikanti et al. 2022), 1.2 GiB beside.
inline double true_need(const ParamSet& params, const ExecutionPlan& plan) {
    const Settings s{params};
    const double weights = 16.0 * (s.large ? 335e6 : 110e6);
    const double layers = s.large ? 24 : 12;
    const double width = s.large ? 1024 : 768;
    const double heads = s.large ? 16 : 12;
    const double examples = static_cast<double>(plan.effective_micro_batch().value_or(static_cast<std::int64_t>(s.batch)));
    double activations = examples * s.seq * width * (34 + 5 * heads * s.seq / width) * layers * (s.fp16 ? 1 : 2);
    if (s.checkpointing) activations = 2 * examples * s.seq * width * layers + activations / layers;
    return weights + activations + 1.2 * gibibyte;
}

inline double loss(const ParamSet& params) {
    const Settings s{params};
    const double lr = std::log10(*params.number("lr") / (2e-5 * std::sqrt(s.batch / 32)));
    const double wd = std::log10(*params.number("wd")) + 2;
    const double dropout = *params.number("dropout") - 0.1;
    return 0.30 + 0.08 * lr * lr + 0.02 * std::pow(std::log2(s.batch / 64), 2) - 0.04 * s.seq / 512 - (s.large ? 0.03 : 0) +
           0.01 * wd * wd + 0.2 * dropout * dropout + (s.checkpointing ? 0.02 : 0) + (s.fp16 ? 0.005 : 0);
}

/// Seconds that an attempt trains if it has the card for itself: three passes over 20,000 texts, in matrix products of 15 Tflop/s in fp32
/// and 45 in fp16, and 2 ms for each layer of a micro-batch. Checkpointing computes a third more. The constants are assumed, not measured.
inline double training_seconds(const ParamSet& params, const ExecutionPlan& plan) {
    constexpr double texts = 3 * 20000;
    const Settings s{params};
    const double layers = s.large ? 24 : 12;
    const double width = s.large ? 1024 : 768;
    const double products = texts * s.seq * layers * (72 * width * width + 12 * s.seq * width) * (s.checkpointing ? 4.0 / 3 : 1);
    const double micro_batches = std::ceil(texts / s.batch) * static_cast<double>(plan.accumulation_steps());
    return products / (s.fp16 ? 45e12 : 15e12) + micro_batches * layers * 0.002;
}

/// The estimator of one study: a bias, and noise that a configuration under a plan always has.
struct Estimator {
    double bias = 1;
    hpo::Seed seed;

    [[nodiscard]] double operator()(const ParamSet& params, const ExecutionPlan& plan) const {
        const Settings s{params};
        const auto micro = plan.effective_micro_batch().value_or(0);
        const std::string key = std::to_string(s.large) + std::to_string(s.fp16) + std::to_string(s.checkpointing) + std::to_string(s.seq) +
                                "x" + std::to_string(micro);
        hpo::Rng rng{seed.derive("estimator").derive(key).value};
        const double u = std::max(rng.uniform(), 1e-12);
        return bias * true_need(params, plan) * std::exp(0.1 * hpo::normal_quantile(std::min(u, 1 - 1e-12)));
    }
};

/// A card with a simulated clock, on which several attempts may run at once. As in bench/packing.cpp, an attempt
/// - reaches its peak after a uniform 2 to 20 % of its work, and holds 60 % of it before that;
/// - keeps a share of the card busy, uniform in 0.2 to 0.6. Attempts that ask for more than 1 together share it evenly, and each one more
///   costs all of them 2 %;
/// - settles after a third of its work, if it has a reservation: from then on it holds at most a 16th more than its peak.
/// Before it trains, an attempt loads its model and its texts for 20 seconds, and holds nothing. An attempt that asks for memory that its
/// limit or the other attempts do not leave fails at that moment, and the time until then is lost.
class Device final : public hpo::Executor {
public:
    struct Settings {
        std::size_t slots = 1;
        std::int64_t most_bytes = capacity;  ///< of each attempt
    };
    explicit Device(const Estimator& estimator) : Device{estimator, Settings{}} {}
    Device(const Estimator& estimator, Settings settings) : estimator_{estimator}, settings_{settings} {}

    [[nodiscard]] double now_seconds() const { return now_; }
    [[nodiscard]] std::size_t free_slots() const override { return settings_.slots - running_.size(); }
    void submit(const hpo::Job& job, hpo::ExecutorEvents& /*events*/) override {
        hpo::Rng rng{estimator_.seed.derive("attempts").derive(static_cast<std::uint64_t>(job.trial)).value};
        Running added{.job = job, .need = true_need(job.params, job.plan), .seconds = training_seconds(job.params, job.plan)};
        added.peak_at = 0.02 + 0.18 * rng.uniform();
        added.busy = 0.2 + 0.4 * rng.uniform();
        added.begin = now_;
        added.limit = std::min(job.plan.cap_bytes.value_or(capacity), settings_.most_bytes);
        running_.push_back(std::move(added));
    }
    /// Runs until an attempt ends, and tells it.
    void wait(hpo::ExecutorEvents& events, double /*timeout_seconds*/) override {
        while (!running_.empty()) {
            double busy = 0;
            for (const Running& each : running_) busy += each.loads() ? 0 : each.busy;
            const auto training = std::count_if(running_.begin(), running_.end(), [](const Running& each) { return !each.loads(); });
            const double speed = std::min(1.0, 1 / busy) * std::pow(0.98, static_cast<double>(training - 1));
            const auto left = [&](const Running& each) {
                return each.loads() ? load_seconds - each.loaded : (each.next() - each.done) * each.seconds / speed;
            };
            const auto first =
                std::min_element(running_.begin(), running_.end(), [&](const Running& x, const Running& y) { return left(x) < left(y); });
            const double step = left(*first);
            now_ += step;
            const bool has_loaded = first->loads();
            for (Running& each : running_) {
                const bool is_first = &each == &*first;  // it arrives exactly
                if (each.loads()) each.loaded = is_first ? load_seconds : each.loaded + step;
                else each.done = is_first ? each.next() : each.done + step * speed / each.seconds;
            }
            if (auto outcome = reach(*first, has_loaded, events)) {
                outcome->seconds = now_ - first->begin;
                const std::int64_t trial = first->job.trial;
                running_.erase(first);
                return (void)events.on(trial, *std::move(outcome));
            }
        }
    }
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return capacity; }
    [[nodiscard]] std::optional<std::int64_t> free_now() override { return capacity - held_by_all(); }
    [[nodiscard]] hpo::MemoryEvidence evidence(const ParamSet& params, const ExecutionPlan& plan, hpo::Evidence wanted) override {
        hpo::MemoryEvidence evidence;
        if (wanted == hpo::Evidence::none) return evidence;
        evidence.prediction.emplace();
        evidence.prediction->need = evidence.prediction->comfort = static_cast<std::int64_t>(estimator_(params, plan));
        return evidence;
    }

private:
    static constexpr double load_seconds = 20;
    static constexpr double settles_at = 1.0 / 3;  ///< share of the work
    struct Running {
        hpo::Job job;
        double need = 0;     ///< bytes, at the peak
        double seconds = 0;  ///< of training, alone
        double peak_at = 0;  ///< share of the work
        double busy = 0;     ///< share of the card
        double begin = 0;
        std::int64_t limit = 0;
        std::int64_t held = 0;
        double loaded = 0;  ///< seconds
        double done = 0;    ///< share of the work
        [[nodiscard]] bool loads() const { return loaded < load_seconds; }
        /// The share of the work at which something changes.
        [[nodiscard]] double next() const { return done < peak_at ? peak_at : done < settles_at ? settles_at : 1; }
    };

    [[nodiscard]] std::int64_t held_by_all() const {
        std::int64_t sum = 0;
        for (const Running& each : running_) sum += each.held;
        return sum;
    }

    /// What follows when an attempt has loaded, or reaches the next share of its work. Returns nullopt if it goes on.
    [[nodiscard]] std::optional<hpo::AttemptOutcome> reach(Running& each, bool has_loaded, hpo::ExecutorEvents& events) {
        if (each.done >= 1) {
            hpo::AttemptOutcome outcome{.kind = hpo::OutcomeKind::complete, .values = {loss(each.job.params)}};
            outcome.peak_allocated = static_cast<std::int64_t>(each.need);
            return outcome;
        }
        if (each.done >= settles_at) {
            if (each.job.settles) {
                hpo::MemoryMark mark{.name = std::string{hpo::settled_mark}};
                mark.reading.limit = static_cast<std::int64_t>(each.need * 17 / 16);
                events.on(each.job.trial, mark);
            }
            return std::nullopt;
        }
        const auto wanted = static_cast<std::int64_t>(has_loaded ? 0.6 * each.need : each.need);
        const std::int64_t others = held_by_all() - each.held;
        const std::int64_t most = std::min(each.limit, capacity - others);
        if (wanted <= most) {
            each.held = wanted;
            return std::nullopt;
        }
        hpo::AttemptOutcome outcome;
        outcome.failure = hpo::Failure{.kind = hpo::FailureKind::out_of_memory, .message = "out of memory"};
        hpo::MemoryReading& memory = outcome.failure->memory;
        memory.capacity = capacity;
        memory.allocated = memory.reserved = most;
        memory.free = capacity - others - most;
        if (each.limit < capacity) memory.limit = each.limit;
        outcome.failure->requested_bytes = std::int64_t{1} << 20;
        return outcome;
    }

    Estimator estimator_;
    Settings settings_;
    double now_ = 0;
    std::vector<Running> running_;
};

}  // namespace bench::edge
