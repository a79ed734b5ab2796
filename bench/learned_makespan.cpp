// SPDX-License-Identifier: MIT
// What learned peaks are worth to programs of which nothing is known: 150 simulated trials of five kinds of programs, admitted by the guard
// `calibrated` with peaks that it learns from the study's own trials, against a packer that knows every peak beforehand. The clock is
// simulated; the guard is the real one.
//
//   learned_makespan [SEEDS=20] [FIRST=1] [NOISE=10]     noise in per cent
//
// - The five kinds and their parameters are in tests/guard/simulated_programs.hpp. A peak is the law's times exp(N(0, NOISE)).
//   The device is so large that three proposals of ten exceed it. Of those, nothing but the refusal is ever seen.
// - A trial takes exp(N(0, 0.5)) minutes alone, whatever runs beside it, and reaches its peak after three tenths of that.
// - At most eight trials are on the device or wait for it, in their order; a later one may start where an earlier one does not fit. The
//   guard is asked again about a first attempt that waits.
// - A trial that needs more than its reservation is ended at its peak, and comes back with half as much again, or with all it was seen to
//   need, if that is more. One that was seen to need more than the device does not come back.
// - Neither packer runs what it refuses. The packer that knows every peak refuses all that do not fit.
// Then come the recorded peaks of three real programs (tests/data/program_peaks), in as many random orders, without noise.
// The columns "told" are of a guard that is told the law and the noise before the first trial, and decides by the same rules: no guard that
// does not see the noise beforehand can know more.
// The columns "2nd" are of a study that begins with 60 attempts of another study of the same program, which ran alone.
// The columns "error" and "beyond" are how far what is learned from 40 jobs is off the law, as a median in per cent: of jobs that fit the
// device, and of others. The last table is the cost of one estimate in a study of 5,000 trials, with the fits that new trials cause.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/number_argument.hpp"
#include "hpo/base/normal_quantile.hpp"
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "tests/guard/recorded_programs.hpp"
#include "tests/guard/simulated_programs.hpp"

namespace {

using namespace hpo;  // NOLINT(google-build-using-namespace): many of its types
using hpo::tests::draw_params;
using hpo::tests::Law;
using hpo::tests::laws;

constexpr int trials = 150, learning = 20, slots = 8;
constexpr double peak_at = 0.3;
double noise = 0.1;  ///< standard deviation of the logarithm of a peak

struct Job {
    ParamSet params;
    double need = 0;     ///< bytes
    double minutes = 0;  ///< alone
};

struct Workload {
    std::vector<Job> jobs;
    std::int64_t capacity = 0;
};

/// A device that three jobs of ten exceed.
Workload on_small_device(std::vector<Job> jobs) {
    std::vector<double> needs;
    for (const Job& job : jobs) needs.push_back(job.need);
    std::sort(needs.begin(), needs.end());
    return {std::move(jobs), static_cast<std::int64_t>(needs[needs.size() * 7 / 10])};
}

Workload workload(const Law& law, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::normal_distribution<double> normal;
    std::vector<Job> jobs(trials);
    for (Job& job : jobs) {
        job.params = draw_params(random);
        job.need = law.bytes(job.params) * std::exp(noise * normal(random));
        job.minutes = std::exp(0.5 * normal(random));
    }
    return on_small_device(std::move(jobs));
}

/// Runs of a real program, in a random order.
Workload workload(const std::vector<tests::RecordedRun>& runs, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::normal_distribution<double> normal;
    std::vector<Job> jobs;
    for (const tests::RecordedRun& run : runs) jobs.push_back({run.params, run.bytes, std::exp(0.5 * normal(random))});
    for (std::size_t i = jobs.size(); i-- > 1;) std::swap(jobs[i], jobs[random() % (i + 1)]);
    jobs.resize(trials);
    return on_small_device(std::move(jobs));
}

/// The study as the guard sees it.
struct Study {
    std::vector<Trial> seen;
    std::vector<Direction> directions{Direction::minimize};
    std::vector<Rejection> rejections;
    std::vector<Trial> same_program;  ///< of another study
    int events = 0;
    [[nodiscard]] Time next_time() { return Time{std::chrono::microseconds{++events}}; }
    [[nodiscard]] History history() const { return {"s", directions, seen, rejections, {}, same_program}; }
    /// Begins an attempt. Returns the number of its trial.
    std::size_t begin(const Job& job, const Estimate& estimate, std::int64_t capacity) {
        Trial& trial = seen.emplace_back();
        trial.number = static_cast<std::int64_t>(seen.size()) - 1;
        trial.params = job.params;
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.device_name = "cpu";
        attempt.capacity_bytes = capacity;
        attempt.estimate = estimate;
        attempt.started = next_time();
        return seen.size() - 1;
    }
    /// Ends it: with a peak, or because it took more than the limit.
    void end(std::size_t number, double need, std::optional<std::int64_t> limit) {
        Trial& trial = seen[number];
        Attempt& attempt = trial.attempts.back();
        const std::int64_t capacity = *attempt.capacity_bytes;
        trial.state = limit ? TrialState::fail : TrialState::complete;
        attempt.outcome = limit ? OutcomeKind::failed : OutcomeKind::complete;
        if (!limit) {
            attempt.peak_reserved = static_cast<std::int64_t>(need);
            return;
        }
        const bool by_device = *limit >= capacity;
        attempt.failure = Failure{
            .kind = FailureKind::out_of_memory, .message = "out of memory", .cause = by_device ? OomCause::capacity : OomCause::limit};
        attempt.failure->memory.capacity = capacity;
        if (!by_device) attempt.failure->memory.limit = *limit;
    }
};

struct Result {
    double minutes = 0;
    int launched = 0;       ///< after the first 20 attempts
    int out_of_memory = 0;  ///< of these
    int beyond_device = 0;  ///< of these, with the whole device
    int refused_that_fit = 0;

    /// Adds the attempts of another study; the minutes are each study's own.
    void add(const Result& other) {
        launched += other.launched;
        out_of_memory += other.out_of_memory;
        beyond_device += other.beyond_device;
        refused_that_fit += other.refused_that_fit;
    }
};

/// Runs the jobs. `reservation(job)` returns bytes, or more than the capacity for a job that is refused. `started(job)` hears of an
/// attempt, and `ended(job, reserved, fits)` how it ended.
template <class Reservation, class Started, class Ended>
Result run(const Workload& work, Reservation&& reservation, Started&& started, Ended&& ended) {
    struct Attempted {
        const Job* job;
        double reserved, end;
        bool fits;
    };
    struct Waiting {
        const Job* job;
        double reserved;
        bool is_retry = false;
    };
    Result result;
    std::vector<Attempted> running;
    std::vector<Waiting> waiting;
    std::size_t next = 0;
    int attempts = 0;
    const auto capacity = static_cast<double>(work.capacity);
    const auto used = [&] {
        double sum = 0;
        for (const Attempted& each : running) sum += each.reserved;
        return sum;
    };
    for (double now = 0;;) {
        while (next < work.jobs.size() && running.size() + waiting.size() < slots) {
            const Job& job = work.jobs[next];
            const double reserved = reservation(job);
            if (reserved <= capacity) waiting.push_back({&job, reserved});
            else result.refused_that_fit += job.need <= capacity ? 1 : 0;
            ++next;
        }
        for (std::size_t i = 0; i < waiting.size();) {
            if (!waiting[i].is_retry) waiting[i].reserved = reservation(*waiting[i].job);
            if (waiting[i].reserved > capacity) {
                result.refused_that_fit += waiting[i].job->need <= capacity ? 1 : 0;
                waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            if (used() + waiting[i].reserved > capacity) {
                ++i;
                continue;
            }
            const Waiting starting = waiting[i];
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
            const bool fits = starting.job->need <= starting.reserved;
            if (++attempts > learning) {
                ++result.launched;
                result.out_of_memory += fits ? 0 : 1;
                result.beyond_device += !fits && starting.reserved >= capacity ? 1 : 0;
            }
            started(*starting.job);
            running.push_back({starting.job, starting.reserved, now + starting.job->minutes * (fits ? 1 : peak_at), fits});
        }
        if (running.empty()) {
            if (next >= work.jobs.size() && waiting.empty()) return result;
            continue;
        }
        const auto first = std::min_element(running.begin(), running.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
        const Attempted done = *first;
        running.erase(first);
        result.minutes = now = done.end;
        ended(*done.job, done.reserved, done.fits);
        if (!done.fits && done.job->need <= capacity)
            waiting.insert(waiting.begin(), {done.job, std::min(capacity, std::max(1.5 * done.reserved, done.job->need)), true});
    }
}

Result run_learned(const Workload& work, std::vector<Trial> same_program) {
    const guard::Calibrated guard;
    Study study;
    study.same_program = std::move(same_program);
    struct Known {
        Estimate estimate;
        std::size_t trial = 0;
    };
    std::map<const Job*, Known> known;
    const ExecutionPlan plan;
    return run(
        work,
        [&](const Job& job) {
            Estimate estimate = guard.estimate({.params = job.params,
                                                .plan = plan,
                                                .capacity_bytes = work.capacity,
                                                .history = study.history(),
                                                .runs_on = {"cpu", "command"},
                                                .smallest_plan = true});
            const auto reserved = estimate.need.value_or(work.capacity);
            if (reserved > work.capacity) study.rejections.push_back({.params = job.params, .estimate = estimate, .at = study.next_time()});
            known[&job].estimate = std::move(estimate);
            return static_cast<double>(reserved);
        },
        [&](const Job& job) { known.at(&job).trial = study.begin(job, known.at(&job).estimate, work.capacity); },
        [&](const Job& job, double reserved, bool fits) {
            study.end(known.at(&job).trial, job.need, fits ? std::nullopt : std::optional{static_cast<std::int64_t>(reserved)});
        });
}

/// Runs the jobs with a guard that knows the law and the noise. As Calibrated with a learned peak, it gives a quarter of the risk to
/// reservations, and rations what may exceed the device with another.
Result run_told(const Workload& work, const Law& law) {
    constexpr double share = 0.01 / 4, risk_of_refusal = 0.002, most = 0.5;
    struct Decided {
        double excess_risk = 0;
        bool is_venture = false;
    };
    std::map<const Job*, Decided> decided;
    const auto capacity = static_cast<double>(work.capacity);
    double left = 0;
    int refused_in_a_row = 0, begun = 0;
    std::map<const Job*, double> answers;  // it knows no more when it is asked again
    const auto decide = [&](const Job& job) {
        const double expected = law.bytes(job.params);
        const double bound = expected * std::exp(hpo::normal_quantile(1 - share) * noise);
        if (bound <= capacity) return bound;
        const double excess_risk = 0.5 * std::erfc(std::log(capacity / expected) / (std::sqrt(2.0) * noise));
        if (excess_risk > std::clamp(std::max(left, risk_of_refusal * refused_in_a_row), share, most)) {
            ++refused_in_a_row;
            return 2 * capacity;
        }
        decided[&job] = {excess_risk, true};
        left -= excess_risk;
        return capacity;
    };
    return run(
        work,
        [&](const Job& job) {
            const auto answered = answers.find(&job);
            return answered != answers.end() ? answered->second : answers[&job] = decide(job);
        },
        [&](const Job&) {
            left += ++begun > learning ? share : 0;
            refused_in_a_row = 0;
        },
        [&](const Job& job, double, bool fits) {
            if (fits) return;
            left -= 1;
            if (const auto venture = decided.find(&job); venture != decided.end() && venture->second.is_venture)
                left += venture->second.excess_risk;
        });
}

Result run_knowing(const Workload& work) {
    return run(
        work, [&](const Job& job) { return job.need; }, [](const Job&) {}, [](const Job&, double, bool) {});
}

/// The share of peaks below each quantile of a prediction, after 30 trials. A peak above the device is only known to be above it. There are
/// three ways to count it.
struct Coverage {
    int all = 0;
    std::vector<double> clipped = std::vector<double>(3);  ///< as the device itself: a quantile above it always holds
    /// By its rank, which is anywhere between that of the device and 1, by the prediction: a share of it is below the quantile.
    std::vector<double> ranked = std::vector<double>(3);
    /// Not at all above the device: only quantiles below it count.
    std::vector<double> inside = std::vector<double>(3), all_inside = std::vector<double>(3);
};
constexpr double quantiles[] = {0.5, 0.8, 0.95};

/// A study in which the first jobs have run alone.
Study after(const Workload& work, std::size_t seen) {
    Study study;
    for (std::size_t i = 0; i < seen; ++i) {
        const Job& job = work.jobs[i];
        study.end(study.begin(job, {}, work.capacity), job.need,
                  job.need > static_cast<double>(work.capacity) ? std::optional{work.capacity} : std::nullopt);
    }
    return study;
}

/// How far what is learned from 40 jobs is off the law, for later jobs that fit the device, and for those that do not.
struct Errors {
    std::vector<double> fitting, beyond;
};

void compare(const Workload& work, const Law& law, Errors& errors) {
    constexpr std::size_t seen = 40;
    Study study = after(work, seen);
    guard::LearnedPeaks learned;
    const ExecutionPlan plan;
    for (std::size_t i = seen; i < work.jobs.size(); ++i) {
        const ParamSet& params = work.jobs[i].params;
        const auto answer = learned.ask({.params = params, .plan = plan, .history = study.history(), .runs_on = {"cpu", "command"}});
        const double bytes = law.bytes(params);
        (bytes <= static_cast<double>(work.capacity) ? errors.fitting : errors.beyond)
            .push_back(std::abs(std::exp(answer.log_bytes.mean) / bytes - 1));
    }
}

double median_percent(std::vector<double> values) {
    if (values.empty()) return 0;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return 100 * values[values.size() / 2];
}

void cover(const Workload& work, Coverage& coverage) {
    constexpr std::size_t seen = 30;
    Study study = after(work, seen);
    guard::LearnedPeaks learned;
    const ExecutionPlan plan;
    for (std::size_t i = seen; i < work.jobs.size(); ++i) {
        const Job& job = work.jobs[i];
        const auto answer = learned.ask({.params = job.params, .plan = plan, .history = study.history(), .runs_on = {"cpu", "command"}});
        if (answer.knowledge != guard::LearnedPeaks::Knowledge::enough) continue;
        const double device = std::log(static_cast<double>(work.capacity)), need = std::log(job.need);
        const auto rank = [&](double at) {
            return 0.5 * std::erfc((answer.log_bytes.mean - at) / std::sqrt(2 * answer.log_bytes.variance));
        };
        for (std::size_t k = 0; k < 3; ++k) {
            const double least = rank(std::min(need, device));  // of the peak, if it is above the device
            coverage.clipped[k] += least <= quantiles[k] ? 1 : 0;
            if (need <= device) coverage.ranked[k] += least <= quantiles[k] ? 1 : 0;
            else coverage.ranked[k] += std::max(0.0, quantiles[k] - least) / (1 - least);
            if (quantiles[k] >= rank(device)) continue;
            coverage.inside[k] += need <= device && least <= quantiles[k] ? 1 : 0;
            coverage.all_inside[k] += 1;
        }
        ++coverage.all;
    }
}

void print_real(long seeds, long first) {
    std::printf("\n%-16s  %8s  %6s  %8s  %12s  %12s\n", "real program", "launched", "oom", "oom %", "refused, fit", "time by best");
    for (const std::string_view name : tests::recorded_programs) {
        const auto runs = tests::recorded_runs(name);
        Result all;
        double ratio = 0;
        for (long seed = first; seed < first + seeds; ++seed) {
            const Workload work = workload(runs, static_cast<std::uint64_t>(seed));
            const Result learned = run_learned(work, {});
            all.add(learned);
            ratio += learned.minutes / run_knowing(work).minutes;
        }
        std::printf("%-16s  %8d  %6d  %8.2f  %12d  %12.2f\n", std::string{name}.c_str(), all.launched, all.out_of_memory,
                    100.0 * all.out_of_memory / std::max(1, all.launched), all.refused_that_fit, ratio / static_cast<double>(seeds));
        std::fflush(stdout);
    }
}

void print_cost() {
    constexpr int history = 5000, asked = 200;
    std::mt19937_64 random{5};
    const Law law = laws()[1];
    Study study;
    const std::int64_t capacity = std::int64_t{1} << 40;
    const auto add = [&] {
        Job job{.params = draw_params(random)};
        job.need = law.bytes(job.params);
        study.end(study.begin(job, {}, capacity), job.need, std::nullopt);
    };
    for (int i = 0; i < history; ++i) add();
    const guard::Calibrated guard;
    const ExecutionPlan plan;
    std::vector<double> milliseconds;
    for (int i = 0; i < asked; ++i) {
        const ParamSet params = draw_params(random);
        const auto begin = std::chrono::steady_clock::now();
        const Estimate estimate = guard.estimate({.params = params,
                                                  .plan = plan,
                                                  .capacity_bytes = capacity,
                                                  .history = study.history(),
                                                  .runs_on = {"cpu", "command"},
                                                  .smallest_plan = true});
        milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        if (!estimate.need) std::printf("no estimate\n");
        add();
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    double sum = 0;
    for (const double each : milliseconds) sum += each;
    std::printf("\none estimate after each of %d trials that follow %d: mean %.2f ms, median %.2f, most %.1f\n", asked, history,
                sum / asked, milliseconds[asked / 2], milliseconds.back());
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments arguments{argc, argv, 3, "learned_makespan [SEEDS] [FIRST] [NOISE]"};
    const long seeds = arguments.at(1, {.standard = 20, .least = 1});
    const long first = arguments.at(2, {.standard = 1});
    noise = static_cast<double>(arguments.at(3, {.standard = 10})) / 100;
    std::printf("%-12s  %8s  %6s  %8s  %8s  %12s  %12s  %8s  %8s  %10s  %10s  %9s  %9s  %9s  %9s\n", "kind", "launched", "oom", "oom %",
                "device %", "refused, fit", "time by best", "error %", "beyond %", "told oom %", "told, fit", "told time", "2nd oom %",
                "2nd, fit", "2nd time");
    Coverage coverage;
    for (const Law& law : laws()) {
        Result all, told, second;
        Errors errors;
        double ratio = 0, told_ratio = 0, second_ratio = 0;
        for (long seed = first; seed < first + seeds; ++seed) {
            const Workload work = workload(law, static_cast<std::uint64_t>(seed));
            constexpr std::size_t known = 60;
            constexpr std::uint64_t other_seeds = 1000;
            const Workload before = workload(law, static_cast<std::uint64_t>(seed) + other_seeds);
            const Result learned = run_learned(work, {}), knows_law = run_told(work, law);
            const Result begun_with_others = run_learned(work, after(before, known).seen);
            const double best = run_knowing(work).minutes;
            all.add(learned);
            told.add(knows_law);
            second.add(begun_with_others);
            second_ratio += begun_with_others.minutes / best;
            ratio += learned.minutes / best;
            told_ratio += knows_law.minutes / best;
            cover(work, coverage);
            compare(work, law, errors);
        }
        std::printf("%-12s  %8d  %6d  %8.2f  %8.2f  %12d  %12.2f  %8.1f  %8.1f  %10.2f  %10d  %9.2f  %9.2f  %9d  %9.2f\n", law.name.c_str(),
                    all.launched, all.out_of_memory, 100.0 * all.out_of_memory / std::max(1, all.launched),
                    100.0 * all.beyond_device / std::max(1, all.launched), all.refused_that_fit, ratio / static_cast<double>(seeds),
                    median_percent(errors.fitting), median_percent(errors.beyond), 100.0 * told.out_of_memory / std::max(1, told.launched),
                    told.refused_that_fit, told_ratio / static_cast<double>(seeds),
                    100.0 * second.out_of_memory / std::max(1, second.launched), second.refused_that_fit,
                    second_ratio / static_cast<double>(seeds));
        std::fflush(stdout);
    }
    const auto print_shares = [](const char* name, const std::vector<double>& shares, const std::vector<double>& of) {
        std::printf("%-34s", name);
        for (std::size_t k = 0; k < 3; ++k) std::printf("  %.2f: %.3f (of %.0f)", quantiles[k], shares[k] / of[k], of[k]);
        std::printf("\n");
    };
    std::printf("\npeaks below the quantile\n");
    const std::vector<double> all(3, coverage.all);
    print_shares("above the device by their rank", coverage.ranked, all);
    print_shares("above the device as the device", coverage.clipped, all);
    print_shares("quantiles below the device alone", coverage.inside, coverage.all_inside);
    print_real(seeds, first);
    print_cost();
}
