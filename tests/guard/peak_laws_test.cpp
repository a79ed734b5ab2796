// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/peak_laws.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "hpo/guard/learned/peak_model.hpp"
#include "support/catch.hpp"

namespace peak_law_test {

using hpo::guard::LawData;
using hpo::guard::LawTerm;
using hpo::guard::PeakLaws;
using hpo::guard::PeakModel;
using Row = std::vector<double>;
using Bytes = std::function<double(const Row&)>;

constexpr double mib = 1 << 20;

/// Runs with inputs batch, width, depth, an optimizer of two and a rate that has no influence.
LawData runs_of(const Bytes& bytes, std::size_t count, double deviation, double device = 1e18) {
    using enum LawData::Kind;
    LawData data{.kinds = {amount, amount, amount, category, amount}, .rows = {}, .log_bytes = {}, .censored = {}};
    std::mt19937 random{7};
    std::normal_distribution<double> noise{0, deviation};
    while (data.rows.size() < count) {
        const auto below = [&](unsigned most) { return static_cast<double>(random() % most); };
        data.rows.push_back({8 * std::exp2(below(5)), 64 * std::exp2(below(5)), 1 + below(8), below(2), std::pow(10, -below(5))});
        const double took = bytes(data.rows.back()) * std::exp(deviation > 0 ? noise(random) : 0);
        data.log_bytes.push_back(std::log(std::min(took, device)));
        data.censored.push_back(took > device);
    }
    return data;
}

std::vector<LawTerm> law_of(const LawData& data) {
    PeakLaws laws;
    laws.learn(data, true);
    return laws.laws().at(0).terms;
}

void check_factors(const LawTerm& term, const std::vector<std::pair<std::size_t, int>>& expected) {
    REQUIRE(term.factors.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(term.factors[i].input == expected[i].first);
        CHECK(term.factors[i].power == expected[i].second);
    }
}

TEST_CASE("a law of one product is found with its coefficients, and nothing else") {
    const auto terms = law_of(runs_of([](const Row& x) { return mib * (200 + 6 * x[0]); }, 20, 0));
    REQUIRE(terms.size() == 2);
    CHECK(terms[0].factors.empty());
    CHECK(terms[0].bytes == Approx(200 * mib).epsilon(1e-3));
    check_factors(terms[1], {{0, 1}});
    CHECK(terms[1].bytes == Approx(6 * mib).epsilon(1e-3));
    CHECK(terms[1].conditions.empty());
}

TEST_CASE("a law of two products, one of them with a square, is found under noise") {
    const auto bytes = [](const Row& x) { return mib * (100 + x[0] * x[1] / 100 + x[1] * x[1] * x[2] / 5000); };
    const auto terms = law_of(runs_of(bytes, 60, 0.05));
    REQUIRE(terms.size() == 3);
    const bool product_first = terms[1].factors.at(0).input == 0;
    check_factors(terms[product_first ? 1 : 2], {{0, 1}, {1, 1}});
    check_factors(terms[product_first ? 2 : 1], {{1, 2}, {2, 1}});
    CHECK(terms[product_first ? 1 : 2].bytes == Approx(mib / 100).epsilon(0.1));
    CHECK(terms[product_first ? 2 : 1].bytes == Approx(mib / 5000).epsilon(0.1));
}

TEST_CASE("a step of a category is a part of its own") {
    const auto terms = law_of(runs_of([](const Row& x) { return mib * (x[3] == 1 ? 900 : 400); }, 20, 0.02));
    REQUIRE(terms.size() == 2);
    CHECK(terms[1].factors.empty());
    REQUIRE(terms[1].conditions.size() == 1);
    CHECK(terms[1].conditions[0].input == 3);
    CHECK_FALSE(terms[1].conditions[0].above);
    const double other = terms[1].conditions[0].value == 1 ? 400 : 900;
    CHECK(terms[0].bytes + (other == 900 ? terms[1].bytes : 0) == Approx(400 * mib).epsilon(0.03));
}

TEST_CASE("a number from which on a program takes more is a step") {
    const auto terms = law_of(runs_of([](const Row& x) { return mib * (x[0] > 32 ? 900 : 400); }, 30, 0.02));
    REQUIRE(terms.size() == 2);
    CHECK(terms[1].factors.empty());
    REQUIRE(terms[1].conditions.size() == 1);
    CHECK(terms[1].conditions[0].input == 0);
    CHECK(terms[1].conditions[0].above);
    CHECK(terms[1].conditions[0].value == 32);
    CHECK(terms[0].bytes == Approx(400 * mib).epsilon(0.03));
    CHECK(terms[1].bytes == Approx(500 * mib).epsilon(0.05));
}

TEST_CASE("a step may double what a category takes, and what an amount takes") {
    for (const Bytes& bytes : {Bytes{[](const Row& x) { return mib * (x[3] == 1 ? 900 : 400) * (x[0] > 32 ? 2 : 1); }},
                               Bytes{[](const Row& x) { return mib * (200 + x[1]) * (x[0] > 32 ? 2 : 1); }}}) {
        const LawData data = runs_of(bytes, 60, 0.02);
        PeakLaws laws;
        laws.learn(data, true);
        CHECK(laws.laws()[0].terms.size() == 4);
        for (const auto& row : data.rows) CHECK(laws.ask(row).log_bytes == Approx(std::log(bytes(row))).margin(0.04));
    }
}

TEST_CASE("a smooth law is not taken for steps") {
    for (unsigned count : {20U, 60U}) {
        const auto terms = law_of(runs_of([](const Row& x) { return mib * (200 + 6 * x[0]); }, count, 0.05));
        REQUIRE(terms.size() == 2);
        check_factors(terms[1], {{0, 1}});
        CHECK(terms[1].conditions.empty());
    }
}

TEST_CASE("a category that matters is found behind many that do not") {
    LawData data{.kinds = std::vector<LawData::Kind>(9, LawData::Kind::category), .rows = {}, .log_bytes = {}, .censored = {}};
    std::mt19937 random{7};
    while (data.rows.size() < 40) {
        Row& row = data.rows.emplace_back();
        for (std::size_t k = 0; k < 9; ++k) row.push_back(static_cast<double>(random() % 3));
        data.log_bytes.push_back(std::log(mib * (row[8] == 2 ? 800 : 300)));
        data.censored.push_back(false);
    }
    const auto terms = law_of(data);
    REQUIRE(terms.size() == 2);
    REQUIRE(terms[1].conditions.size() == 1);
    CHECK(terms[1].conditions[0].input == 8);
    CHECK(terms[1].conditions[0].value == 2);
}

TEST_CASE("peaks that differ by chance alone have no law") {
    for (const double deviation : {0.0, 0.1, 0.5}) {
        const auto terms = law_of(runs_of([](const Row&) { return 300 * mib; }, 40, deviation));
        REQUIRE(terms.size() == 1);
        CHECK(terms[0].bytes == Approx(300 * mib).epsilon(deviation / 2 + 1e-6));
    }
}

TEST_CASE("runs that ran out of memory neither hide a law nor pull it down") {
    const auto bytes = [](const Row& x) { return mib * (150 + x[0] * x[1] * x[2] / 800); };
    const LawData data = runs_of(bytes, 40, 0.03, 300 * mib);
    REQUIRE(std::count(data.censored.begin(), data.censored.end(), true) >= 10);
    PeakLaws laws;
    laws.learn(data, true);
    for (const auto& row : data.rows) CHECK(laws.ask(row).log_bytes == Approx(std::log(bytes(row))).margin(0.1));
}

TEST_CASE("beyond what was seen a model goes on by the law") {
    const auto bytes = [](const Row& x) { return mib * (150 + x[0] * x[1] * x[2] / 800); };
    LawData data = runs_of(bytes, 30, 0.02);
    PeakModel model;
    std::vector<PeakModel::Input> inputs;
    for (const auto kind : data.kinds) inputs.push_back({.kind = kind, .logarithmic = kind == LawData::Kind::amount});
    model.fit(inputs, data, true);
    const Row far{1024, 4096, 16, 0, 0.01};  // 8, 4 and 2 times the largest
    CHECK(model.predict(far).mean == Approx(std::log(bytes(far))).margin(0.15));
}

TEST_CASE("the coefficients follow new runs while the parts of a law stay") {
    PeakLaws laws;
    laws.learn(runs_of([](const Row& x) { return mib * (200 + 6 * x[0]); }, 20, 0), true);
    laws.learn(runs_of([](const Row& x) { return mib * (100 + 9 * x[0]); }, 20, 0), false);
    const auto& terms = laws.laws().at(0).terms;
    REQUIRE(terms.size() == 2);
    CHECK(terms[0].bytes == Approx(100 * mib).epsilon(1e-3));
    CHECK(terms[1].bytes == Approx(9 * mib).epsilon(1e-3));
}

TEST_CASE("errors of peaks near a peak decide how uncertain it is, because those of small peaks are small") {
    PeakModel::Validation found;
    CHECK(found.variance_scale(10) == 1);
    for (int i = 0; i < 30; ++i) found.misses.push_back({.foretold = 10 + 0.01 * i, .square = 0.25});  // nearly all of it libraries
    for (int i = 0; i < 10; ++i) found.misses.push_back({.foretold = 12 + 0.01 * i, .square = 9});
    CHECK(found.variance_scale(10.1) == 1);  // never below 1
    CHECK(found.variance_scale(12) > 7);
    CHECK(found.variance_scale(12) < 9);
    CHECK(found.variance_scale(11) < found.variance_scale(11.6));
    CHECK(found.variance_scale(20) == found.variance_scale(12.09));  // beyond all that was foretold: as at its edge
    CHECK(found.variance_scale(1) == found.variance_scale(10));
    PeakModel::Validation one;
    one.misses.push_back({.foretold = 5, .square = 100});
    CHECK(one.variance_scale(5) > 1);
    CHECK(one.variance_scale(5) < 100);
}

}  // namespace peak_law_test
