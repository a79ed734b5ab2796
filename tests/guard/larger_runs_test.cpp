// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/learned/larger_runs.hpp"
#include "support/catch.hpp"

namespace larger_runs_test {

using namespace hpo;  // NOLINT(google-build-using-namespace): a test of many of its types
using hpo::guard::LargerRuns;
using hpo::guard::LawData;

constexpr double one_mib = 1 << 20;
constexpr double absent = std::numeric_limits<double>::quiet_NaN();
constexpr auto amount = LawData::Kind::amount;
constexpr auto category = LawData::Kind::category;

LargerRuns::Run ran(std::vector<double> row, double mib, ExecutionPlan plan = {}) {
    return {.row = std::move(row), .plan = std::move(plan), .log_bytes = std::log(mib * one_mib)};
}
LargerRuns::Run ran_out(std::vector<double> row, double mib) {
    LargerRuns::Run run = ran(std::move(row), mib);
    run.censored = true;
    return run;
}
LargerRuns::Run asked(std::vector<double> row, ExecutionPlan plan = {}) { return ran(std::move(row), 1, std::move(plan)); }

/// The peaks of the larger runs, in MiB.
std::vector<double> larger_than(const LargerRuns& runs, const LargerRuns::Run& run) {
    std::vector<double> peaks;
    for (const LargerRuns::Run* larger : runs.larger_than(run)) peaks.push_back(std::round(std::exp(larger->log_bytes) / one_mib));
    return peaks;
}

TEST_CASE("a run is at most as large as one of the same categories that has at least as much of every amount") {
    const LargerRuns runs{
        {amount, category, amount}, {true, true, true}, {ran({64, 0, 3}, 300), ran({128, 0, 2}, 200), ran({256, 1, 4}, 400)}};
    CHECK(larger_than(runs, asked({64, 0, 3})) == std::vector<double>{300});
    CHECK(larger_than(runs, asked({32, 0, 1})) == std::vector<double>{200, 300});  // the one that took least is the first
    CHECK(larger_than(runs, asked({65, 0, 3})).empty());
    CHECK(larger_than(runs, asked({32, 1, 1})) == std::vector<double>{400});
    CHECK(larger_than(runs, asked({32, 2, 1})).empty());
}

TEST_CASE("a number that may be below 0 has no larger values") {
    const LargerRuns runs{{LawData::Kind::other}, {true}, {ran({0.5}, 300)}};
    CHECK(larger_than(runs, asked({0.5})) == std::vector<double>{300});
    CHECK(larger_than(runs, asked({0.4})).empty());
}

TEST_CASE("a run that lacks a parameter of another one may be at most as large, and one that has a further parameter is not") {
    const LargerRuns runs{{amount, amount, category}, {true, true, true}, {ran({91, 30, 1}, 300), ran({80, absent, absent}, 100)}};
    CHECK(larger_than(runs, asked({42, absent, absent})) == std::vector<double>{100, 300});
    CHECK(larger_than(runs, asked({85, absent, absent})) == std::vector<double>{300});
    CHECK(larger_than(runs, asked({42, 30, 1})) == std::vector<double>{300});
    CHECK(larger_than(runs, asked({42, 31, 1})).empty());
}

TEST_CASE("a plan that takes more is not at most as large") {
    ExecutionPlan plain, checkpointed, accumulated, half;
    checkpointed.activation_checkpointing = true;
    accumulated.effective_batch = 8;
    accumulated.micro_batch = 4;
    half.precision = Precision::bf16;
    const LargerRuns runs{{amount}, {true}, {ran({64}, 300, plain)}};
    CHECK(larger_than(runs, asked({64}, checkpointed)) == std::vector<double>{300});
    CHECK(larger_than(runs, asked({64}, accumulated)).empty());  // gradients are kept from pass to pass
    CHECK(larger_than(runs, asked({64}, half)).empty());
    const LargerRuns others{{amount}, {true}, {ran({64}, 300, checkpointed), ran({64}, 400, accumulated)}};
    CHECK(larger_than(others, asked({64}, plain)) == std::vector<double>{400});
}

TEST_CASE("a number that does not count may have any value, also one beyond all that were measured") {
    const LargerRuns runs{{amount, amount}, {true, false}, {ran({64, 0.1}, 300), ran({32, 0.4}, 200)}};
    for (const double rate : {0.3, 0.01, 0.5, absent}) CHECK(larger_than(runs, asked({50, rate})) == std::vector<double>{300});
    CHECK(larger_than(runs, asked({65, 0.3})).empty());
}

TEST_CASE("a number that seemed not to count and ran a smaller network out of memory ends such conclusions") {
    std::vector<LargerRuns::Run> seen{ran({64, 0.1}, 300), ran({32, 0.4}, 200)};
    seen.push_back(ran_out({50, 2.0}, 400));
    const LargerRuns runs{{amount, amount}, {true, false}, seen};
    CHECK(larger_than(runs, asked({50, 3.0})).empty());
    CHECK(larger_than(runs, asked({64, 0.1})) == std::vector<double>{300});
}

TEST_CASE("of an input of which less took more, nothing is concluded any more") {
    // Rows are width and chunks: with fewer chunks a step takes more.
    const std::vector<LargerRuns::Run> seen{ran({64, 8}, 100), ran({64, 1}, 800), ran({128, 8}, 200)};
    const LargerRuns runs{{amount, amount}, {true, true}, seen};
    CHECK(larger_than(runs, asked({100, 8})) == std::vector<double>{200});
    CHECK(larger_than(runs, asked({100, 4})).empty());
    CHECK(larger_than(runs, asked({64, 1})) == std::vector<double>{800});
    // What measurements may differ by chance contradicts nothing.
    const LargerRuns noisy{{amount, amount}, {true, true}, {ran({64, 8}, 100), ran({64, 1}, 110), ran({128, 8}, 200)}};
    CHECK(larger_than(noisy, asked({100, 4})) == std::vector<double>{200});
}

TEST_CASE("a run that was concluded to fit and ran out of memory is not concluded to fit again") {
    std::vector<LargerRuns::Run> seen{ran({128, 8}, 200)};
    CHECK(larger_than({{amount, amount}, {true, true}, seen}, asked({100, 4})) == std::vector<double>{200});
    seen.push_back(ran_out({100, 4}, 205));
    const LargerRuns runs{{amount, amount}, {true, true}, seen};
    CHECK(larger_than(runs, asked({100, 4})).empty());
    CHECK(larger_than(runs, asked({60, 3})).empty());  // smaller in the same two
    CHECK(larger_than(runs, asked({100, 8})) == std::vector<double>{200});
}

TEST_CASE("of a category of which all runs ran out, nothing is known of one that is at most half as large as each") {
    // Rows are kind, length and batch. Of kind 1 nothing ran.
    const LargerRuns runs{
        {category, amount, amount}, {true, true, true}, {ran({0, 512, 64}, 90), ran_out({1, 512, 32}, 100), ran_out({1, 256, 32}, 100)}};
    CHECK(runs.is_far_below_failed(asked({1, 128, 32})));
    CHECK(runs.is_far_below_failed(asked({1, 64, 64})));  // larger in one, and a quarter in the other
    CHECK(runs.is_far_below_failed(asked({1, absent, 8})));
    CHECK_FALSE(runs.is_far_below_failed(asked({1, 256, 32})));
    CHECK_FALSE(runs.is_far_below_failed(asked({1, 200, 32})));
    CHECK_FALSE(runs.is_far_below_failed(asked({1, 128, 64})));
    CHECK_FALSE(runs.is_far_below_failed(asked({0, 8, 1})));  // of its kind one ran
    CHECK_FALSE(runs.is_far_below_failed(asked({2, 8, 1})));  // of its kind none failed
    // What does not count makes nothing smaller.
    const LargerRuns other{{category, amount}, {true, false}, {ran({0, 0.1}, 90), ran_out({1, 0.1}, 100)}};
    CHECK_FALSE(other.is_far_below_failed(asked({1, 0.001})));
}

/// A convolutional network with a width for each of its layers, and its peak.
struct Network {
    ParamSet params;
    double bytes = 0;
};

Network draw_network(std::mt19937& random) {
    Network network;
    const auto share = [&] { return static_cast<double>(random() % 1000) / 1000; };
    const auto layers = static_cast<int>(1 + random() % 3);
    network.params.set("n_layers", IntDistribution{.low = 1, .high = 3}, layers);
    double pixels = 28 * 28, activations = 0, weights = 0, before = 1;
    for (int layer = 0; layer < layers; ++layer) {
        const double channels = std::floor(4 * std::exp2(5 * share()));
        network.params.set("channels_" + std::to_string(layer), IntDistribution{.low = 4, .high = 128}, channels);
        activations += channels * pixels;
        weights += 9 * channels * before;
        before = channels;
        if (layer < 2) pixels /= 4;
    }
    const std::vector<Value> kinds{std::string{"sgd"}, std::string{"adam"}};
    const auto kind = random() % 2;
    network.params.set("optimizer", CategoricalDistribution{kinds}, static_cast<double>(kind));
    network.params.set("lr", FloatDistribution{.low = 1e-5, .high = 0.1, .log = true}, 1e-5 * std::pow(10.0, 4 * share()));
    network.bytes = 30 * one_mib + activations * 4 * 2 * 256 + weights * 4 * (kind == 1 ? 4 : 2);
    return network;
}

bool is_at_most(const ParamSet& params, const ParamSet& larger) {
    for (const Param& param : params) {
        if (param.name == "lr") continue;
        const Param* const other = larger.find(param.name);
        if (!other) return false;
        const bool is_kind = param.name == "optimizer";
        if (is_kind ? param.value() != other->value() : *params.number(param.name) > *larger.number(param.name)) return false;
    }
    return true;
}

/// A study of networks that a guard without predictions looks at, on a device of one size.
struct GuardedStudy {
    std::int64_t capacity;
    guard::Calibrated guard{};
    std::vector<Trial> trials{};
    std::vector<Rejection> rejections{};
    std::vector<Direction> directions{Direction::minimize};

    [[nodiscard]] Estimate estimate(const Network& network) const {
        const History history{"s", directions, trials, rejections};
        return guard.estimate({.params = network.params,
                               .plan = {},
                               .capacity_bytes = capacity,
                               .history = history,
                               .runs_on = {"cpu", "command"},
                               .smallest_plan = true});
    }
    [[nodiscard]] bool fits(const Network& network) const { return network.bytes <= static_cast<double>(capacity); }
    void refuse(const Network& network, const Estimate& estimate, int at) {
        rejections.push_back({.params = network.params, .estimate = estimate, .at = Time{std::chrono::microseconds{at}}});
    }
    /// A network that does not fit runs out of memory.
    void run(const Network& network, const Estimate& estimate, int at) {
        Trial& trial = trials.emplace_back();
        trial.number = static_cast<std::int64_t>(trials.size()) - 1;
        trial.state = fits(network) ? TrialState::complete : TrialState::fail;
        trial.params = network.params;
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.device_name = "cpu";
        attempt.estimate = estimate;
        attempt.started = Time{std::chrono::microseconds{at}};
        attempt.capacity_bytes = capacity;
        attempt.outcome = fits(network) ? OutcomeKind::complete : OutcomeKind::failed;
        if (fits(network)) {
            attempt.peak_reserved = static_cast<std::int64_t>(network.bytes);
            return;
        }
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .cause = OomCause::capacity};
        attempt.failure->memory.capacity = capacity;
    }
};

TEST_CASE("of networks with conditional widths, none is refused that is at most as large as one that ran") {
    constexpr auto capacity = static_cast<std::int64_t>(70 * one_mib);  // half of the networks need more
    std::size_t refused = 0, larger_ran = 0, ran_out = 0, attempts = 0;
    for (unsigned seed = 5; seed <= 7; ++seed) {
        std::mt19937 random{seed};
        GuardedStudy study{capacity};
        for (int i = 0; i < 60; ++i) {
            const Network network = draw_network(random);
            const Estimate estimate = study.estimate(network);
            bool has_larger = false;
            double largest_rate = 0;
            for (const Trial& trial : study.trials) {
                if (trial.attempts[0].outcome != OutcomeKind::complete) continue;
                has_larger = has_larger || is_at_most(network.params, trial.params);
                largest_rate = std::max(largest_rate, *trial.params.number("lr"));
            }
            has_larger = has_larger && *network.params.number("lr") <= largest_rate;
            larger_ran += has_larger ? 1U : 0U;
            if (*estimate.need > capacity) {
                ++refused;
                INFO("seed " << seed << ", proposal " << i << ": " << network.bytes / one_mib << " MiB, refused with "
                             << static_cast<double>(*estimate.need) / one_mib);
                CHECK_FALSE(has_larger);
                study.refuse(network, estimate, i);
                continue;
            }
            study.run(network, estimate, i);
            ++attempts;
            ran_out += study.fits(network) ? 0U : 1U;
        }
    }
    INFO(refused << " refused, " << larger_ran << " with a larger one that ran, " << ran_out << " of " << attempts << " ran out of memory");
    CHECK(refused > 20);
    CHECK(larger_ran > 20);
    CHECK(ran_out * 4 < attempts);
}

/// One of two kinds of models. The second kind takes far more, by a law of its own.
Network draw_of_two_kinds(std::mt19937& random) {
    Network network;
    const std::vector<Value> kinds{std::string{"mlp"}, std::string{"attention"}};
    const auto kind = random() % 2;
    network.params.set("kind", CategoricalDistribution{kinds}, static_cast<double>(kind));
    const double batch = std::exp2(3 + static_cast<double>(random() % 5));
    network.params.set("batch", IntDistribution{.low = 8, .high = 128, .log = true}, batch);
    const double size = 64 * static_cast<double>(1 + random() % 8);
    network.params.set(kind == 0 ? "width" : "length", IntDistribution{.low = 64, .high = 512}, size);
    network.bytes = one_mib * (2 + (kind == 0 ? size * batch / 2000 : size * size * batch / 40'000));
    return network;
}

TEST_CASE("a kind of model of which the first attempts ran out of memory is not lost to the study") {
    constexpr auto capacity = static_cast<std::int64_t>(100 * one_mib);
    for (unsigned seed = 1; seed <= 6; ++seed) {
        std::mt19937 random{seed};
        GuardedStudy study{capacity};
        const auto is_large_kind = [](const Network& network) { return network.params.find("kind")->internal == 1; };
        int ran = 0, ran_out = 0, fitting = 0;
        for (int i = 0; i < 120; ++i) {
            Network network = draw_of_two_kinds(random);
            while (i < 8 && is_large_kind(network) == study.fits(network)) network = draw_of_two_kinds(random);  // at first, only mlps fit
            const Estimate estimate = study.estimate(network);
            const bool fits = study.fits(network);
            fitting += is_large_kind(network) && fits ? 1 : 0;
            if (*estimate.need > capacity) {
                study.refuse(network, estimate, i);
                continue;
            }
            if (is_large_kind(network)) ++(fits ? ran : ran_out);
            study.run(network, estimate, i);
        }
        INFO("seed " << seed << ": " << ran << " of " << fitting << " that fit ran, " << ran_out << " ran out of memory");
        CHECK(ran * 2 > fitting);
        CHECK(ran_out < 10);
    }
}

TEST_CASE("a network that is in nothing larger than one that ran has no larger estimate") {
    constexpr auto capacity = static_cast<std::int64_t>(4000 * one_mib);
    std::mt19937 random{2};
    const guard::Calibrated guard;
    std::vector<Trial> trials;
    const std::vector<Direction> directions{Direction::minimize};
    for (int i = 0; i < 12; ++i) {
        const Network network = draw_network(random);
        Trial& trial = trials.emplace_back();
        trial.number = i;
        trial.state = TrialState::complete;
        trial.params = network.params;
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.device_name = "cpu";
        attempt.outcome = OutcomeKind::complete;
        attempt.peak_reserved = static_cast<std::int64_t>(network.bytes);
    }
    const History history{"s", directions, trials, {}};
    const auto need_of = [&](const ParamSet& params) {
        return *guard
                    .estimate({.params = params, .plan = {}, .capacity_bytes = capacity, .history = history, .runs_on = {"cpu", "command"}})
                    .need;
    };
    std::size_t compared = 0;
    for (int i = 0; i < 200; ++i) {
        const Network network = draw_network(random);
        for (const Trial& trial : trials) {
            if (!is_at_most(network.params, trial.params) || *network.params.number("lr") > *trial.params.number("lr")) continue;
            ++compared;
            CHECK(need_of(network.params) <= need_of(trial.params));
        }
    }
    CHECK(compared > 20);
}

}  // namespace larger_runs_test
