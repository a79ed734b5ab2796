// SPDX-License-Identifier: MIT
// What memory guards cost and save where the best configurations lie at the edge of memory: the simulated study of edge_study.hpp, and an
// estimator that is off by a factor of 0.7 to 1.4 and by 10 % of noise. Prints a table of guards under tpe, with a micro-batch that may
// shrink and without; then one of samplers, where nothing may. The guard's constants were chosen on seeds below 20000, which are not in
// them.
//
//     memory_edge [first seed = 20000] [seeds = 20] [trials = 300]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/edge_study.hpp"
#include "bench/number_argument.hpp"
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/sampler/auto.hpp"
#include "hpo/sampler/cmaes.hpp"
#include "hpo/sampler/gp.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"

namespace {

using hpo::ExecutionPlan;
using hpo::ParamSet;
using hpo::Value;
using namespace bench::edge;

/// Knows every true need.
struct Oracle {
    [[nodiscard]] hpo::Estimate estimate(const hpo::MemoryQuery& query) const {
        return {.need = static_cast<std::int64_t>(true_need(query.params, query.plan)), .source = "oracle"};
    }
    [[nodiscard]] hpo::Evidence evidence() const { return hpo::Evidence::none; }
};
/// Takes the estimator at its word, up to a share of the device.
struct FixedLimit {
    double share = 1;
    [[nodiscard]] hpo::Estimate estimate(const hpo::MemoryQuery& query) const {
        return {.need = static_cast<std::int64_t>(static_cast<double>(query.prediction->need) / share), .source = "fixed"};
    }
    [[nodiscard]] hpo::Evidence evidence() const { return hpo::Evidence::dry_run; }
};

struct Share {
    double failed = 0;
    double launched = 0;
    [[nodiscard]] double percent() const { return launched > 0 ? 100 * failed / launched : 0; }
};

/// What one guard did over all seeds.
struct Column {
    std::vector<double> best;
    std::vector<double> out_of_memory;  ///< percent of launches after 20 trials, of each seed
    Share all;
    Share after_20;
    Share last_100;
    double refused = 0;
    double micro_batches = 0;  ///< for each optimizer step, summed over launches
    double combinations = 0;   ///< that fit
    double reachable = 0;      ///< of these: would be launched after the study
    double in_the_end = 0;     ///< of these: would be launched after a thousand more attempts that left memory free
};

struct Run {
    std::uint64_t first_seed = 0;
    int seeds = 20;
    std::int64_t trials = 300;
    bool shrinking = true;
};

/// A thousand small attempts that another estimator predicted: nothing is learned from them of this one, and none used its risk.
hpo::Trial thousand_small_attempts() {
    hpo::Attempt small;
    small.estimate.emplace().need = 1 << 20;
    small.estimate->source = "another";
    small.capacity_bytes = capacity;
    small.outcome = hpo::OutcomeKind::complete;
    hpo::Trial trial;
    trial.attempts.assign(1000, small);
    return trial;
}

/// Counts the combinations that fit, and those of them that the guard would launch after the study.
template <class G>
void count_reachable(Column& column, const G& guard, const hpo::TuneResult& study, Device& device, std::int64_t least) {
    const hpo::History none{};
    std::vector<hpo::Trial> more = study.trials;
    more.push_back(thousand_small_attempts());
    const hpo::History now{"edge", study.study.directions, study.trials, {}};
    const hpo::History later{"edge", study.study.directions, more, {}};
    for (int code = 0; code < 512; ++code) {
        hpo::sampler::Random sampler;
        const std::vector<std::pair<std::string, Value>> fixed{{"model", Value{code % 2 == 0 ? "base" : "large"}},
                                                               {"precision", Value{code / 2 % 2 == 0 ? "fp32" : "fp16"}},
                                                               {"checkpointing", Value{code / 4 % 2 == 0 ? "off" : "on"}},
                                                               {"seq", Value{std::int64_t{128} * (code / 8 % 4 + 1)}},
                                                               {"bs", Value{std::int64_t{8} * (code / 32 + 1)}}};
        const ParamSet params = hpo::suggest_params(sampler, space, {0, none}, hpo::Seed{0}, fixed, 0);
        ExecutionPlan plan;
        plan.effective_batch = static_cast<std::int64_t>(*params.number("bs"));
        const auto admitted = [&](const auto& asked, const hpo::History& history) {
            return hpo::admit(asked, hpo::AdmissionQuery{params, plan, capacity, history, least}, [&](const ExecutionPlan& tried) {
                       return device.evidence(params, tried, asked.evidence());
                   }).answer != hpo::Admission::Answer::infeasible;
        };
        if (!admitted(Oracle{}, now)) continue;
        column.combinations += 1;
        column.reachable += admitted(guard, now) ? 1 : 0;
        column.in_the_end += admitted(guard, later) ? 1 : 0;
    }
}

template <class G, class S = hpo::sampler::Tpe>
Column measure(const G& guard, const Run& run) {
    Column column;
    for (int i = 0; i < run.seeds; ++i) {
        // Biases from 0.7 to 1.4, evenly on a log scale.
        const double bias = 0.7 * std::pow(2.0, run.seeds > 1 ? static_cast<double>(i) / (run.seeds - 1) : 0.5);
        const std::uint64_t seed = run.first_seed + static_cast<std::uint64_t>(i);
        Device device{Estimator{bias, hpo::Seed{seed}}};
        hpo::TuneOptions options;
        options.trials = run.trials;
        options.seed = seed;
        options.effective_batch_parameter = "bs";
        options.least_micro_batch = run.shrinking ? 1 : 1 << 20;
        options.refuses_plan = [](const ExecutionPlan& from, const ExecutionPlan& to) {
            return from.activation_checkpointing == to.activation_checkpointing ? std::optional<std::string>{} : "a parameter here";
        };
        options.max_rejections = 100000;
        hpo::store::InMemory store;
        hpo::Tuner tuner{S{}, hpo::pruner::None{}, guard, hpo::recovery::Prune{}};
        const hpo::TuneResult result = tuner.optimize(store, "edge", space, device, options);
        Share after_20;
        for (const hpo::Trial& trial : result.trials) {
            for (const hpo::Attempt& attempt : trial.attempts) {
                const double failed = attempt.failure ? 1 : 0;
                column.micro_batches += static_cast<double>(attempt.plan.accumulation_steps());
                for (Share* share : {&column.all, trial.number >= 20 ? &column.after_20 : nullptr, trial.number >= 20 ? &after_20 : nullptr,
                                     trial.number >= run.trials - 100 ? &column.last_100 : nullptr}) {
                    if (!share) continue;
                    share->failed += failed;
                    share->launched += 1;
                }
            }
        }
        column.out_of_memory.push_back(after_20.percent());
        column.refused += static_cast<double>(store.rejections(result.study.id).size());
        column.best.push_back(result.best() ? result.best()->values[0] : HUGE_VAL);
        count_reachable(column, guard, result, device, options.least_micro_batch);
    }
    return column;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// The probability of values at least so much larger than `other`'s if both were alike: the rank sum test, normal approximation.
double worse_by_chance(const std::vector<double>& values, const std::vector<double>& other) {
    double wins = 0;
    for (const double x : values) {
        for (const double y : other) wins += x > y ? 1 : x == y ? 0.5 : 0;
    }
    const auto n = static_cast<double>(values.size());
    const auto m = static_cast<double>(other.size());
    return 0.5 * std::erfc((wins - n * m / 2 - 0.5) / std::sqrt(n * m * (n + m + 1) / 12) / std::sqrt(2.0));
}

void print(const char* name, const Column& column, const Column& oracle, const Run& run) {
    std::vector<double> best = column.best;
    std::sort(best.begin(), best.end());
    std::printf(
        "| %s | %.1f %% | **%.2f %%** [%.1f, %.1f] | %.2f %% | %.0f | %.2f | %.4f [%.4f, %.4f] | %.2f | %.1f %% | %.0f of %.0f |\n", name,
        column.all.percent(), column.after_20.percent(), *std::min_element(column.out_of_memory.begin(), column.out_of_memory.end()),
        *std::max_element(column.out_of_memory.begin(), column.out_of_memory.end()), column.last_100.percent(), column.refused / run.seeds,
        column.micro_batches / column.all.launched, median(best), best[best.size() / 4], best[best.size() * 3 / 4],
        worse_by_chance(column.best, oracle.best), 100 * column.reachable / column.combinations, column.in_the_end, column.combinations);
    std::fflush(stdout);
}

void print_head(const Run& run, const char* what) {
    std::printf("\n%s, %lld trials, seeds %llu to %llu:\n\n",
                run.shrinking ? "The guard may shrink the micro-batch" : "Nothing may be shrunk", static_cast<long long>(run.trials),
                static_cast<unsigned long long>(run.first_seed),
                static_cast<unsigned long long>(run.first_seed + static_cast<std::uint64_t>(run.seeds) - 1));
    std::printf(
        "| %s | out of memory | after 20 trials [least, most of a seed] | last 100 | refused | micro-batches a step | best, median "
        "[quartiles] | p | reachable | in the end |\n",
        what);
    std::printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
}

void print_guards(const Run& run) {
    print_head(run, "guard");
    const Column oracle = measure(Oracle{}, run);
    print("none, random search", measure<hpo::guard::Unlimited, hpo::sampler::Random>({}, run), oracle, run);
    print("none", measure(hpo::guard::Unlimited{}, run), oracle, run);
    print("the estimator's word", measure(FixedLimit{1.0}, run), oracle, run);
    print("the estimator's word, limit at 70 %", measure(FixedLimit{0.7}, run), oracle, run);
    print("calibrated", measure(hpo::guard::Calibrated{}, run), oracle, run);
    print("calibrated, no ventures", measure(hpo::guard::Calibrated{{.venture = false}}, run), oracle, run);
    print("calibrated, risk 0.05", measure(hpo::guard::Calibrated{{.risk = 0.05}}, run), oracle, run);
    print("oracle", oracle, oracle, run);
}

/// `p` is against tpe under the oracle.
template <class S>
void print_sampler(const Column& oracle, const Run& run) {
    const std::string name{S::name};
    print((name + ", no guard").c_str(), measure<hpo::guard::Unlimited, S>({}, run), oracle, run);
    print((name + ", calibrated").c_str(), measure<hpo::guard::Calibrated, S>(hpo::guard::Calibrated{}, run), oracle, run);
    print((name + ", oracle").c_str(), measure<Oracle, S>({}, run), oracle, run);
}

void print_samplers(const Run& run) {
    print_head(run, "sampler and guard");
    const Column oracle = measure(Oracle{}, run);
    print_sampler<hpo::sampler::Tpe>(oracle, run);
    print_sampler<hpo::sampler::Cmaes>(oracle, run);
    print_sampler<hpo::sampler::Gp>(oracle, run);
    print_sampler<hpo::sampler::Auto>(oracle, run);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 3, "memory_edge [first seed] [seeds] [trials]"};
    Run run{.first_seed = static_cast<std::uint64_t>(numbers.at(1, {.standard = 20000})),
            .seeds = static_cast<int>(numbers.at(2, {.standard = 20, .least = 1})),
            .trials = numbers.at(3, {.standard = 300, .least = 1})};
    for (const bool shrinking : {true, false}) {
        run.shrinking = shrinking;
        print_guards(run);
    }
    print_samplers(run);
}
