// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/named_law.hpp"

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "guard/simulated_programs.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "support/catch.hpp"

namespace named_law_test {

using namespace hpo;  // NOLINT(google-build-using-namespace): a test of many of its types
using hpo::guard::in_words;
using hpo::guard::LearnedPeaks;
using hpo::guard::NamedLaw;

constexpr double mib = 1 << 20;

/// What is told after so many runs of a program. Those above the device ran out of memory.
NamedLaw told(const std::function<double(const ParamSet&)>& bytes, int runs, double deviation = 0, double device = 1e18) {
    std::mt19937 random{3};
    std::normal_distribution<double> noise{0, 1};
    std::vector<Trial> trials;
    for (int i = 0; i < runs; ++i) {
        Trial& trial = trials.emplace_back();
        trial.params = hpo::tests::draw_params(random);
        const double took = bytes(trial.params) * std::exp(deviation * noise(random));
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.device_name = "cpu";
        attempt.outcome = took > device ? OutcomeKind::failed : OutcomeKind::complete;
        if (took <= device) {
            attempt.peak_reserved = static_cast<std::int64_t>(took);
            continue;
        }
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .cause = OomCause::capacity};
        attempt.failure->memory.capacity = static_cast<std::int64_t>(device);
    }
    return LearnedPeaks{}.law({"s", {}, trials, {}}, "cpu");
}

double number(const ParamSet& params, const char* name) { return *params.number(name); }

TEST_CASE("a law of a constant and a part for each example is told in a sentence") {
    const auto bytes = [](const ParamSet& p) { return mib * (200 + 6 * number(p, "batch")); };
    const NamedLaw law = told(bytes, 20);
    CHECK(law.kind == NamedLaw::Kind::products);
    CHECK(in_words(law) == "roughly 200 MiB + 6.0 MiB for each example of batch (from 20 attempts; typical error below 1 %)");
    CHECK(in_words(told(bytes, 30, 0, 700 * mib)) ==
          "roughly 200 MiB + 6.0 MiB for each example of batch (from 24 attempts and 6 that ran out of memory; typical error below 1 %)");
}

TEST_CASE("a product is told at usual values of its other factors") {
    const NamedLaw law = told([](const ParamSet& p) { return mib * (150 + number(p, "batch") * number(p, "width") / 256); }, 20);
    REQUIRE(law.parts.size() == 2);
    REQUIRE(law.parts[1].factors.size() == 2);
    CHECK(law.parts[1].bytes == Approx(mib / 256).epsilon(1e-3));
    CHECK(law.parts[1].factors[1].usual == 256);
    CHECK(
        in_words(law) ==
        "roughly 150 MiB + 1.0 MiB for each example of batch at width = 256, as batch x width (from 20 attempts; typical error below 1 %)");
}

TEST_CASE("a choice is told by its value, and a square by its usual one") {
    CHECK(in_words(told([](const ParamSet& p) { return mib * (p.value("optimizer") == Value{std::string{"adam"}} ? 900 : 400); }, 20)) ==
          "roughly 400 MiB + 500 MiB if optimizer = adam (from 20 attempts; typical error below 1 %)");
    CHECK(in_words(told([](const ParamSet& p) { return mib * (100 + number(p, "width") * number(p, "width") / 1024); }, 20)) ==
          "roughly 100 MiB + 64 MiB at width = 256, as width^2 (from 20 attempts; typical error below 1 %)");
}

TEST_CASE("a step is told with the value that it is above, and with its category") {
    const auto bytes = [](const ParamSet& p) { return mib * (number(p, "batch") > 32 ? 800 : 400); };
    CHECK(in_words(told(bytes, 20)) == "roughly 400 MiB + 400 MiB if batch > 32 (from 20 attempts; typical error below 1 %)");
    NamedLaw law{.kind = NamedLaw::Kind::products, .attempts = 9, .typical_error = 0.034};
    law.parts = {{.factors = {},
                  .conditions = {{.name = "kind", .value = Value{std::string{"cnn"}}}, {.name = "", .value = Value{32.0}, .above = true}},
                  .bytes = mib}};
    CHECK(in_words(law) == "roughly 1.0 MiB if kind = cnn and the micro-batch > 32 (from 9 attempts; typical error 3 %)");
}

TEST_CASE("where the parameters do not matter, where nothing is a law, and where too little is known, this is said") {
    CHECK(in_words(told([](const ParamSet&) { return 300 * mib; }, 12)) ==
          "roughly 300 MiB, whatever the parameters are (from 12 attempts; typical error below 1 %)");
    CHECK(in_words(told([](const ParamSet&) { return 300 * mib; }, 7)) == "not known yet: 7 attempts have told a peak, and a law needs 8");
    CHECK(in_words(told([](const ParamSet&) { return 300 * mib; }, 1)) == "not known yet: 1 attempt has told a peak, and a law needs 8");
    CHECK(in_words(told([](const ParamSet&) { return 300 * mib; }, 0)) == "not known yet: 0 attempts have told a peak, and a law needs 8");
    const NamedLaw none = told([](const ParamSet&) { return 300 * mib; }, 40, 1);
    CHECK(none.kind == NamedLaw::Kind::none);
    CHECK(none.parts.empty());
    CHECK(in_words(none).starts_with("no law stands out (from 40 attempts; the best one's typical error is "));
}

TEST_CASE("the micro-batch of a plan is told as such, and sizes below a byte keep a digit") {
    NamedLaw law{.kind = NamedLaw::Kind::products, .attempts = 9, .typical_error = 0.034};
    law.parts = {{.factors = {}, .conditions = {}, .bytes = 2.5 * 1024 * mib},
                 {.factors = {{.name = "", .power = 1, .usual = 8}}, .conditions = {}, .bytes = 1.26 * mib},
                 {.factors = {{.name = "depth", .power = 1, .usual = 3}}, .conditions = {}, .bytes = 0.04}};
    CHECK(in_words(law) ==
          "roughly 2.5 GiB + 1.3 MiB for each example of the micro-batch + 0.04 bytes for each unit of depth (from 9 attempts; typical "
          "error 3 %)");
}

}  // namespace named_law_test
