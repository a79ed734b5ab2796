// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "guard/simulated_programs.hpp"
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/calibration/normal_tail.hpp"
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "support/catch.hpp"

namespace learned_peaks_test {

using namespace hpo;  // NOLINT(google-build-using-namespace): a test of many of its types
using hpo::guard::LearnedPeaks;
using hpo::tests::draw_params;
using hpo::tests::laws;

constexpr std::int64_t one_mib = std::int64_t{1} << 20;

struct SeenStudy {
    std::vector<Trial> trials;
    std::vector<Direction> directions{Direction::minimize};
    [[nodiscard]] History history() const { return {"s", directions, trials, {}}; }
    Attempt& add(ParamSet params) {
        Trial& trial = trials.emplace_back();
        trial.number = static_cast<std::int64_t>(trials.size()) - 1;
        trial.state = TrialState::complete;
        trial.params = std::move(params);
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.device_name = "cpu";
        attempt.outcome = OutcomeKind::complete;
        return attempt;
    }
    void measured(ParamSet params, double bytes) { add(std::move(params)).peak_reserved = static_cast<std::int64_t>(bytes); }
    /// Out of memory on a device of this size.
    void refused(ParamSet params, std::int64_t capacity) {
        Attempt& attempt = add(std::move(params));
        attempt.outcome = OutcomeKind::failed;
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .cause = OomCause::capacity};
        attempt.failure->memory.capacity = capacity;
        attempt.capacity_bytes = capacity;
        trials.back().state = TrialState::fail;
    }
};

inline MemoryQuery learned_query(const ParamSet& params, const ExecutionPlan& plan, const History& history,
                                 std::optional<std::int64_t> capacity = {}) {
    return {.params = params,
            .plan = plan,
            .capacity_bytes = capacity,
            .history = history,
            .runs_on = {"cpu", "command"},
            .smallest_plan = true};
}

TEST_CASE("the quantiles of learned peaks hold for five kinds of programs, with noise and with attempts that ran out of memory") {
    constexpr int seeds = 6, seen = 30, asked = 40;
    const std::vector<double> probabilities{0.5, 0.8, 0.95};
    std::vector<double> below(probabilities.size());
    double all = 0;
    for (const auto& [name, law] : laws()) {
        std::vector<double> errors;
        for (unsigned seed = 1; seed <= seeds; ++seed) {
            std::mt19937 random{seed};
            std::normal_distribution<double> noise{0, 0.05};
            std::vector<double> peaks;
            for (int i = 0; i < 200; ++i) peaks.push_back(law(draw_params(random)));
            std::sort(peaks.begin(), peaks.end());
            const auto capacity = static_cast<std::int64_t>(peaks[160] * 1.02);
            SeenStudy study;
            for (int i = 0; i < seen; ++i) {
                ParamSet params = draw_params(random);
                const double bytes = law(params) * std::exp(noise(random));
                if (bytes > static_cast<double>(capacity)) study.refused(std::move(params), capacity);
                else study.measured(std::move(params), bytes);
            }
            LearnedPeaks learned;
            for (int i = 0; i < asked; ++i) {
                const ParamSet params = draw_params(random);
                const double truth = std::log(law(params) * std::exp(noise(random)));
                const auto answer = learned.ask(learned_query(params, {}, study.history()));
                REQUIRE(answer.knowledge == LearnedPeaks::Knowledge::enough);
                const double device = std::log(static_cast<double>(capacity));
                if (truth <= device) errors.push_back(std::abs(std::exp(answer.log_bytes.mean - truth) - 1));
                // A peak above the device is never measured. Its rank is anywhere between the device's and 1: a share of it counts.
                const double shown = std::min(truth, device);
                const double rank = 0.5 * std::erfc((answer.log_bytes.mean - shown) / std::sqrt(2 * answer.log_bytes.variance));
                for (std::size_t k = 0; k < probabilities.size(); ++k) {
                    const double share = std::max(0.0, probabilities[k] - rank) / (1 - rank);
                    below[k] += truth > device ? share : rank <= probabilities[k] ? 1 : 0;
                }
                ++all;
            }
        }
        std::sort(errors.begin(), errors.end());
        INFO(name << ": median error " << errors[errors.size() / 2] << ", 90 % " << errors[errors.size() * 9 / 10]);
        CHECK(errors[errors.size() / 2] < 0.1);
    }
    for (std::size_t k = 0; k < probabilities.size(); ++k) {
        INFO("below the quantile " << probabilities[k] << ": " << below[k] / all);
        CHECK(below[k] / all == Approx(probabilities[k]).margin(0.08));
    }
}

TEST_CASE("of a peak that may exceed the device no absurd figure is told, though few attempts that disagree would allow any") {
    const auto law = laws()[3].bytes;  // steps, which eight attempts do not show
    const guard::Calibrated guard;
    std::size_t above = 0;
    for (unsigned seed = 1; seed <= 4; ++seed) {
        std::mt19937 random{seed};
        SeenStudy study;
        for (int i = 0; i < 8; ++i) {
            ParamSet params = draw_params(random);
            const double bytes = law(params);
            study.measured(std::move(params), bytes);
        }
        constexpr std::int64_t capacity = 1000 * one_mib;
        for (int i = 0; i < 40; ++i) {
            const ParamSet params = draw_params(random);
            const Estimate estimate = guard.estimate(learned_query(params, {}, study.history(), capacity));
            REQUIRE(estimate.source == "learned");
            REQUIRE(estimate.parts.front().name == "predicted");
            above += *estimate.need > capacity ? 1U : 0U;
            CHECK(*estimate.need <= std::max(2 * capacity, estimate.parts.front().bytes));
        }
    }
    CHECK(above > 0);
}

TEST_CASE("an attempt has the device alone until enough is learned, and nothing is estimated where no memory is told") {
    std::mt19937 random{3};
    const guard::Calibrated guard;
    SeenStudy study;
    const ParamSet params = draw_params(random);
    const auto ask = [&](std::optional<std::int64_t> capacity) {
        return guard.estimate(learned_query(params, {}, study.history(), capacity));
    };
    CHECK_FALSE(ask({}).need);
    CHECK(ask(1000 * one_mib).need == 1000 * one_mib);
    CHECK(ask(1000 * one_mib).source == "alone");
    study.add(draw_params(random));  // told nothing
    CHECK_FALSE(ask(1000 * one_mib).need);
    CHECK(ask(1000 * one_mib).source == "formula");
    for (int i = 0; i < 3; ++i) study.measured(draw_params(random), 300.0 * one_mib);
    CHECK(ask(1000 * one_mib).source == "alone");
    study.measured(draw_params(random), 310.0 * one_mib);
    const Estimate learned = ask(1000 * one_mib);
    CHECK(learned.source == "learned");
    CHECK(learned.confidence == Approx(0.9975));  // a quarter of the risk
    REQUIRE(learned.need);
    CHECK(*learned.need > 300 * one_mib);
    // Peaks on another device say nothing about this one.
    const History history = study.history();
    CHECK(
        guard.estimate({.params = params, .plan = {}, .capacity_bytes = 1000 * one_mib, .history = history, .runs_on = {"gpu", "command"}})
            .source == "alone");
}

TEST_CASE("what is learned refuses only what surely does not fit, and gives the whole device to what may") {
    const guard::Calibrated guard;
    std::mt19937 random{5};
    const auto law = laws()[1].bytes;
    SeenStudy study;
    for (int i = 0; i < 60; ++i) {
        ParamSet params = draw_params(random);
        const double bytes = law(params);
        study.measured(std::move(params), bytes);
    }
    int refused = 0, whole_device = 0;
    for (int i = 0; i < 300; ++i) {
        const ParamSet params = draw_params(random);
        const double truth = law(params);
        const auto capacity = static_cast<std::int64_t>(truth * std::exp(static_cast<double>(i % 21 - 10) / 10));
        const Estimate estimate = guard.estimate(learned_query(params, {}, study.history(), capacity));
        REQUIRE(estimate.need);
        if (*estimate.need > capacity) {
            ++refused;
            CHECK(truth > static_cast<double>(capacity));
        }
        whole_device += *estimate.need == capacity ? 1 : 0;
    }
    CHECK(refused > 50);
    CHECK(whole_device > 0);  // few: the law is all but known
}

TEST_CASE("with learned peaks few attempts run out of memory, and reservations are not far above what is needed") {
    for (const auto& [name, law] : laws()) {
        INFO(name);
        std::mt19937 random{11};
        std::normal_distribution<double> noise{0, 0.05};
        std::vector<double> peaks;
        for (int i = 0; i < 200; ++i) peaks.push_back(law(draw_params(random)));
        std::sort(peaks.begin(), peaks.end());
        const auto capacity = static_cast<std::int64_t>(peaks[180] * 1.5);
        const guard::Calibrated guard;
        SeenStudy study;
        int launched = 0, too_little = 0, beyond_device = 0, refused_though_it_fits = 0;
        double reserved = 0, needed = 0;
        for (int i = 0; i < 150; ++i) {
            ParamSet params = draw_params(random);
            const double truth = law(params) * std::exp(noise(random));
            const Estimate estimate = guard.estimate(learned_query(params, {}, study.history(), capacity));
            REQUIRE(estimate.need);
            if (*estimate.need > capacity) {
                refused_though_it_fits += truth <= static_cast<double>(capacity) ? 1 : 0;
                continue;
            }
            const bool fits = truth <= static_cast<double>(*estimate.need);
            if (i >= 20) {
                ++launched;
                if (!fits) ++(*estimate.need == capacity ? beyond_device : too_little);
                if (*estimate.need < capacity) {
                    reserved += static_cast<double>(*estimate.need);
                    needed += truth;
                }
            }
            if (truth > static_cast<double>(capacity)) study.refused(std::move(params), capacity);
            else study.measured(std::move(params), truth);
            study.trials.back().attempts.back().estimate = estimate;
        }
        INFO("launched " << launched << ", too little " << too_little << ", beyond device " << beyond_device << ", refused though it fits "
                         << refused_though_it_fits << ", reserved " << reserved / needed << " times the need");
        CHECK(too_little <= launched * 2 / 100);
        CHECK(beyond_device <= launched * 3 / 100);
        CHECK(refused_though_it_fits <= launched * 4 / 100);
        CHECK(reserved < 2 * needed);
    }
}

TEST_CASE("where three proposals of ten exceed the device, ventures and those that ran out of memory pay for the next that may") {
    constexpr std::size_t learning = guard::Calibrated::learning_attempts;
    for (const auto& [name, law] : laws()) {
        INFO(name);
        std::mt19937 random{5};
        std::normal_distribution<double> noise{0, 0.1};
        std::vector<double> peaks;
        for (int i = 0; i < 200; ++i) peaks.push_back(law(draw_params(random)) * std::exp(noise(random)));
        std::sort(peaks.begin(), peaks.end());
        const auto capacity = static_cast<std::int64_t>(peaks[140]);
        const guard::Calibrated guard;
        SeenStudy study;
        std::vector<Rejection> rejections;
        double left = 0, in_a_row = 0;
        for (int i = 0; i < 200; ++i) {
            ParamSet params = draw_params(random);
            const double truth = law(params) * std::exp(noise(random));
            const Time at{std::chrono::microseconds{i}};
            const History history{"s", study.directions, study.trials, rejections};
            const Estimate estimate = guard.estimate(learned_query(params, {}, history, capacity));
            if (*estimate.need > capacity) {
                rejections.push_back({.params = std::move(params), .estimate = estimate, .at = at});
                in_a_row += 1;
                continue;
            }
            const bool is_out = truth > static_cast<double>(capacity);
            if (study.trials.size() >= learning) {
                CHECK(1 - estimate.confidence <= std::max({0.0025, left, 0.002 * in_a_row}) + 1e-6);
                const bool is_venture = estimate.need == capacity && estimate.confidence < 0.9975 - 1e-9;
                left += 0.0025 - (is_out ? 1 : is_venture ? 1 - estimate.confidence : 0);
            }
            if (is_out) study.refused(std::move(params), capacity);
            else study.measured(std::move(params), truth);
            study.trials.back().attempts.back().estimate = estimate;
            study.trials.back().attempts.back().started = at;
            study.trials.back().attempts.back().capacity_bytes = capacity;
            in_a_row = 0;
        }
        // Where all peaks are the same, noise alone decides which of them exceed the device, and few attempts are worth their risk.
        CHECK(study.trials.size() > (name == "constant" ? 10 : learning));
    }
}

TEST_CASE("a study all of whose proposals are at the edge of the device goes on after some refusals") {
    SeenStudy study;
    std::mt19937 random{3};
    std::normal_distribution<double> noise{0, 0.1};
    const std::int64_t capacity = 305 * one_mib;
    for (std::size_t i = 0; i < 60; ++i) {
        const double bytes = 300 * one_mib * std::exp(noise(random));
        if (bytes > static_cast<double>(capacity)) study.refused(draw_params(random), capacity);
        else study.measured(draw_params(random), bytes);
        study.trials.back().attempts.back().estimate = Estimate{.need = capacity, .confidence = 0.6};
        study.trials.back().attempts.back().started = Time{std::chrono::microseconds{1}};
    }
    const guard::Calibrated guard;
    std::vector<Rejection> rejections;
    const ParamSet params = draw_params(random);
    for (;;) {
        const History history{"s", study.directions, study.trials, rejections};
        const Estimate estimate = guard.estimate(learned_query(params, {}, history, capacity));
        if (*estimate.need <= capacity) break;
        rejections.push_back({.params = params, .estimate = estimate, .at = Time{std::chrono::microseconds{2}}});
        REQUIRE(rejections.size() <= 250);  // far below what ends a study
    }
    CHECK(rejections.size() > 50);
}

TEST_CASE("an error within a wide uncertainty counts as one within a narrow one") {
    const auto error_of = [](std::int64_t median, std::int64_t uncertainty, std::int64_t peak) {
        Attempt attempt;
        attempt.device_name = "cpu";
        attempt.outcome = OutcomeKind::complete;
        attempt.peak_reserved = peak * one_mib;
        attempt.estimate = Estimate{.need = (median + uncertainty + 7) * one_mib, .source = "learned"};
        attempt.estimate->parts = {{"predicted", median * one_mib}, {"uncertainty", uncertainty * one_mib}, {"margin", 7 * one_mib}};
        return guard::residual_of(ParamSet{}, attempt).value().log_ratio;
    };
    CHECK(error_of(100, 100, 200) == Approx(0.25));  // as far above the median as was said to be possible
    CHECK(error_of(100, 100, 400) == Approx(0.5));   // as far above 200 as 200 is above 100
    CHECK(error_of(100, 300, 1600) == Approx(0.5));  // as far above 400 as 400 is above 100
    CHECK(error_of(100, 100, 100) == Approx(0.0).margin(1e-9));
    CHECK(error_of(100, 0, 110) == Approx(std::log(1.1)));                    // not uncertain: as it is
    CHECK(error_of(1000, 1, 1100) == Approx(5 * std::log(1100.0 / 1000.0)));  // not more than five times
}

}  // namespace learned_peaks_test
