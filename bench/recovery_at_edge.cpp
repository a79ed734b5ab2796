// SPDX-License-Identifier: MIT
// What recovery policies save on the simulated study of edge_study.hpp, where the best configurations need nearly all of a card: each
// policy and each rung of the ladder alone, without a guard and under `calibrated`, and a model of Optuna with `catch=`. Prints a table for
// the sampler `random`, in which all ways of a seed meet the same configurations, and one for `tpe`.
//
// Our ways have two workers on one card. With a guard they reserve what is predicted in the real ledger. The model of Optuna runs each
// trial once, ends it at its failure, and learns nothing from it, because Optuna's samplers leave out failed trials. Its workers have the
// whole card at risk, or an equal share of it each. A wait for memory ends only when the memory is free: its ten minutes are those of the
// real clock, which hardly moves here.
//
// The figures are means over the seeds, and medians of the best values.
//
//     recovery_at_edge [first seed = 20000] [seeds = 10] [trials = 300]
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/edge_study.hpp"
#include "bench/number_argument.hpp"
#include "hpo/device/ledger_reservations.hpp"
#include "hpo/registry/builtins.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"

namespace {

using bench::edge::Device;
using bench::edge::Estimator;

/// Tpe that never sees a failed trial.
class LeavesOutFailures {
public:
    [[nodiscard]] double suggest(const hpo::Ask& ask) {
        const auto trials = others(ask.trial.history);
        const hpo::History history = without(ask.trial.history, trials);
        const hpo::TrialContext context{ask.trial.number, history};
        return tpe_.suggest(hpo::Ask{ask.name, ask.distribution, ask.within, ask.fixed, context, ask.rng});
    }
    [[nodiscard]] hpo::ParamSet suggest_joint(const hpo::TrialContext& trial, hpo::Rng& rng) {
        const auto trials = others(trial.history);
        const hpo::History history = without(trial.history, trials);
        return tpe_.suggest_joint({trial.number, history}, rng);
    }

private:
    static std::vector<hpo::Trial> others(const hpo::History& history) {
        std::vector<hpo::Trial> kept;
        for (const hpo::Trial& trial : history.trials) {
            if (trial.state != hpo::TrialState::fail) kept.push_back(trial);
        }
        return kept;
    }
    static hpo::History without(const hpo::History& history, const std::vector<hpo::Trial>& trials) {
        return {history.study, history.directions, trials, history.rejections};
    }

    hpo::sampler::Tpe tpe_;
};

static_assert(hpo::JointSampler<LeavesOutFailures>);

struct Way {
    std::string name;
    std::string guard;
    std::string recovery;
    std::size_t workers = 2;
    bool is_optuna = false;
    bool shares = false;  ///< each worker has an equal share of the card
};

std::vector<Way> ways() {
    std::vector<Way> all;
    for (const std::string guard : {"unlimited", "calibrated"}) {
        for (const std::string policy : {"fail", "prune"}) all.push_back({policy, guard, policy});
        for (const std::string rung : {"fresh_worker", "alone", "wait", "shrink_micro_batch", "checkpoint_activations"})
            all.push_back({"rung " + rung, guard, "ladder:rungs=" + rung + "+prune"});
        for (const std::string policy : {"shrink_micro_batch", "ladder"}) all.push_back({policy, guard, policy});
        all.push_back({"ladder without wait", guard, "ladder:rungs=fresh_worker+alone+shrink_micro_batch+prune"});
        all.push_back({"ladder, shrinks first", guard, "ladder:rungs=fresh_worker+shrink_micro_batch+alone+wait+prune"});
    }
    for (const std::size_t workers : {1U, 2U, 4U}) all.push_back({"Optuna, whole card", "unlimited", "fail", workers, true});
    for (const std::size_t workers : {2U, 4U}) all.push_back({"Optuna, equal shares", "unlimited", "fail", workers, true, true});
    return all;
}

struct Run {
    std::uint64_t first_seed = 0;
    int seeds = 10;
    std::int64_t trials = 300;
    std::string sampler = "random";
};

/// What one way did over all seeds.
struct Row {
    double complete = 0;
    double attempts = 0;
    double failed = 0;
    double hours = 0;
    double lost_hours = 0;  ///< of failed attempts; attempts beside each other both count
    std::vector<double> best;
    std::vector<double> best_in_time;  ///< of trials that ended in `time_hours`
};

constexpr double time_hours = 48;

/// Sees the best value of the trials that end in time.
class Clock final : public hpo::TuneObserver {
public:
    explicit Clock(const Device& device) : device_{device} {}
    void on(const hpo::StudyEvent& event) override {
        const auto* const finished = std::get_if<hpo::event::TrialFinished>(&event);
        if (!finished || finished->trial.state != hpo::TrialState::complete || device_.now_seconds() > 3600 * time_hours) return;
        best = std::min(best, finished->trial.values[0]);
    }
    double best = HUGE_VAL;

private:
    const Device& device_;
};

hpo::registry::AnySampler sampler_of(const hpo::registry::Registries& registries, const Way& way, const Run& run) {
    if (way.is_optuna && run.sampler == "tpe") return hpo::registry::AnySampler{LeavesOutFailures{}};
    return registries.samplers.make("sampler", hpo::registry::parse_policy_spec("sampler", run.sampler));
}

Row measure(const hpo::registry::Registries& registries, const Way& way, const Run& run, const std::filesystem::path& ledger) {
    Row row;
    for (int i = 0; i < run.seeds; ++i) {
        // As memory_edge: biases from 0.7 to 1.4, evenly on a log scale.
        const double bias = 0.7 * std::pow(2.0, run.seeds > 1 ? static_cast<double>(i) / (run.seeds - 1) : 0.5);
        const std::uint64_t seed = run.first_seed + static_cast<std::uint64_t>(i);
        Device device{Estimator{bias, hpo::Seed{seed}},
                      {.slots = way.workers,
                       .most_bytes = way.shares ? bench::edge::capacity / static_cast<std::int64_t>(way.workers) : bench::edge::capacity}};
        std::filesystem::remove(ledger);
        hpo::device::LedgerReservations reservations{
            hpo::device::Ledger{ledger, hpo::device::Ledger::standard_patience, [&] { return device.now_seconds(); }},
            {.budget_bytes = bench::edge::capacity}};
        hpo::TuneOptions options;
        options.trials = run.trials;
        options.seed = seed;
        options.effective_batch_parameter = "bs";
        options.refuses_plan = [](const hpo::ExecutionPlan& from, const hpo::ExecutionPlan& to) {
            return from.activation_checkpointing == to.activation_checkpointing ? std::optional<std::string>{} : "a parameter here";
        };
        options.max_rejections = 100000;
        options.breaker = 0;
        if (way.guard != "unlimited") {
            options.reservations = &reservations;
            options.predicts = true;
            options.target_share = 0.49;  // as hpo-tune does where several workers share a device
        }
        hpo::store::InMemory store;
        Clock clock{device};
        hpo::Tuner tuner{sampler_of(registries, way, run), hpo::pruner::None{},
                         registries.guards.make("guard", hpo::registry::parse_policy_spec("guard", way.guard)),
                         registries.recoveries.make("recovery", hpo::registry::parse_policy_spec("recovery", way.recovery))};
        const hpo::TuneResult result = tuner.optimize(store, "edge", bench::edge::space, device, options, clock);
        for (const hpo::Trial& trial : result.trials) {
            row.complete += trial.state == hpo::TrialState::complete ? 1 : 0;
            for (const hpo::Attempt& attempt : trial.attempts) {
                row.attempts += 1;
                row.failed += attempt.failure ? 1 : 0;
                row.lost_hours += attempt.failure ? attempt.seconds.value_or(0) / 3600 : 0;
            }
        }
        row.hours += device.now_seconds() / 3600;
        row.best_in_time.push_back(clock.best);
        row.best.push_back(result.best() ? result.best()->values[0] : HUGE_VAL);
    }
    return row;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

void print_table(const Run& run) {
    std::printf("\n%lld trials of %s, seeds %llu to %llu:\n\n", static_cast<long long>(run.trials), run.sampler.c_str(),
                static_cast<unsigned long long>(run.first_seed),
                static_cast<unsigned long long>(run.first_seed + static_cast<std::uint64_t>(run.seeds) - 1));
    std::printf(
        "| way | guard | workers | complete | attempts | failed attempts | hours | of failed attempts | complete an hour | best, median "
        "[least, "
        "most] | best in %.0f hours |\n",
        time_hours);
    std::printf("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    const auto registries = hpo::registry::builtin_registries();
    const std::filesystem::path ledger = std::filesystem::temp_directory_path() / ("hpo-edge-" + std::to_string(::getpid()));
    for (const Way& way : ways()) {
        const Row row = measure(registries, way, run, ledger);
        const double seeds = run.seeds;
        std::printf("| %s | %s | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.4f [%.4f, %.4f] | %.4f |\n", way.name.c_str(),
                    way.is_optuna ? "-" : way.guard.c_str(), way.workers, row.complete / seeds, row.attempts / seeds, row.failed / seeds,
                    row.hours / seeds, row.lost_hours / seeds, row.complete / row.hours, median(row.best),
                    *std::min_element(row.best.begin(), row.best.end()), *std::max_element(row.best.begin(), row.best.end()),
                    median(row.best_in_time));
        std::fflush(stdout);
    }
    std::filesystem::remove(ledger);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 3, "recovery_at_edge [first seed] [seeds] [trials]"};
    Run run{.first_seed = static_cast<std::uint64_t>(numbers.at(1, {.standard = 20000})),
            .seeds = static_cast<int>(numbers.at(2, {.standard = 10, .least = 1})),
            .trials = numbers.at(3, {.standard = 300, .least = 1})};
    for (const char* sampler : {"random", "tpe"}) {
        run.sampler = sampler;
        print_table(run);
    }
}
