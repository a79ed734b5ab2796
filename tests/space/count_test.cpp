// SPDX-License-Identifier: MIT
#include "hpo/space/count.hpp"

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/space/enumeration.hpp"
#include "hpo/space/fixed_space.hpp"
#include "support/catch.hpp"

using hpo::count;
using hpo::CountOptions;
using hpo::Space;
using hpo::SpaceTrial;
using hpo::Value;

namespace {

std::vector<Value> texts(std::initializer_list<const char*> names) {
    std::vector<Value> values;
    for (const char* name : names) values.emplace_back(std::string{name});
    return values;
}
std::vector<Value> wholes(std::initializer_list<std::int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

TEST_CASE("a product is the product of its axes, and continuous axes are named") {
    const auto counted = count([](SpaceTrial& trial) {
        trial.suggest_int("a", 1, 10);
        trial.suggest_int("b", 0, 20, {.step = 5});
        trial.suggest_float("c", 0, 0.3, {.step = 0.1});
        trial.suggest_categorical("d", wholes({1, 2, 4}));
        trial.suggest_float("e", 1e-5, 1e-1, {.log = true});
        trial.suggest_float("f", 2, 2);
    });
    CHECK(counted.combinations == 10 * 5 * 4 * 3);
    CHECK(counted.exact);
    CHECK(counted.refused == 0);
    CHECK(counted.continuous == std::vector<std::string>{"e"});
    CHECK(counted.branches_by.empty());
}

TEST_CASE("whole numbers on both sides of zero are counted as they are") {
    const auto count_where = [](auto holds) {
        return count([=](SpaceTrial& trial) { trial.require(holds(trial.suggest_int("y", -5, 5)), "y"); });
    };
    const auto above = count_where([](std::int64_t y) { return y > 0; });
    CHECK(above.combinations == 5);
    CHECK(above.refused == 6);
    CHECK(count_where([](std::int64_t y) { return y == 5; }).combinations == 1);
    CHECK(count_where([](std::int64_t y) { return y < 3; }).combinations == 8);
    CHECK(count([](SpaceTrial& trial) { trial.suggest_int("one", -3, -3); }).combinations == 1);
}

TEST_CASE("a thousand continuous parameters are counted in time that grows as their number") {
    const auto processor_seconds = [](int parameters) {
        const std::clock_t begin = std::clock();
        const auto counted = hpo::count([parameters](hpo::SpaceTrial& trial) {
            for (int i = 0; i < parameters; ++i) trial.suggest_float("x" + std::to_string(i), 0, 1);
        });
        CHECK(counted.combinations == 1);
        CHECK(counted.exact);
        CHECK(counted.continuous.size() == static_cast<std::size_t>(parameters));
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    const double few = processor_seconds(250);
    CHECK(processor_seconds(1000) < 9 * few);  // four times as many; a search through those asked before would cost 16 times
}

TEST_CASE("a space without parameters has one combination") {
    CHECK(count([](SpaceTrial&) {}).combinations == 1);
}

TEST_CASE("branches are counted by the categorical that branches") {
    const Space space = [](SpaceTrial& trial) {
        trial.suggest_int("always", 1, 3);
        const auto kind = std::get<std::string>(trial.suggest_categorical("kind", texts({"mlp", "cnn", "none"})));
        if (kind == "mlp") trial.suggest_int("width", 1, 4);
        if (kind == "cnn") {
            trial.suggest_int("channels", 1, 5);
            trial.suggest_float("dropout", 0, 1);
        }
        trial.suggest_categorical("batch", wholes({8, 16}));
    };
    const auto counted = count(space);
    CHECK(counted.combinations == 3 * (4 + 5 + 1) * 2);
    CHECK(counted.branches_by == "kind");
    REQUIRE(counted.branches.size() == 3);
    CHECK(counted.branches[0].value == Value{std::string{"mlp"}});
    CHECK(counted.branches[0].combinations == 24);
    CHECK(counted.branches[1].combinations == 30);
    CHECK(counted.branches[2].combinations == 6);
    CHECK(counted.continuous == std::vector<std::string>{"dropout"});

    const auto by_batch = count(space, {.by = "batch"});
    CHECK(by_batch.branches_by == "batch");
    CHECK(by_batch.branches.at(1).combinations == 30);
    CHECK_THROWS_WITH(count(space, {.by = "bach"}),
                      "space: unknown categorical parameter 'bach'; did you mean 'batch'?; known: kind, batch");
}

TEST_CASE("branches with as many combinations but other parameters are branches") {
    const auto counted = count([](SpaceTrial& trial) {
        const auto kind = trial.suggest_categorical("kind", wholes({0, 1}));
        trial.suggest_int(kind == Value{std::int64_t{0}} ? "a" : "b", 1, 3);
    });
    CHECK(counted.combinations == 6);
    CHECK(counted.branches_by == "kind");
}

TEST_CASE("refused combinations are excluded and counted") {
    const auto counted = count([](SpaceTrial& trial) {
        const auto a = trial.suggest_int("a", 1, 10);
        const auto b = trial.suggest_int("b", 1, 10);
        trial.require(a + b <= 10, "too much");
    });
    CHECK(counted.combinations == 45);
    CHECK(counted.refused == 55);
    CHECK(counted.exact);
}

TEST_CASE("a product of 10^12 is counted in milliseconds, also with branches and a refusal") {
    const Space space = [](SpaceTrial& trial) {
        for (int i = 0; i < 12; ++i) trial.suggest_int("x" + std::to_string(i), 1, 10);
        trial.suggest_float("lr", 0, 1);
    };
    const std::clock_t begin = std::clock();
    const auto counted = count(space);
    CHECK(std::clock() - begin < 3 * CLOCKS_PER_SEC);  // 20 ms optimised
    CHECK(counted.combinations == 1'000'000'000'000ULL);
    CHECK(counted.exact);
    CHECK(counted.continuous == std::vector<std::string>{"lr"});

    const auto branched = count([](SpaceTrial& trial) {
        const auto model = trial.suggest_categorical("model", texts({"base", "large"}));
        const bool large = model == Value{std::string{"large"}};
        const auto length =
            trial.suggest_int("length", 32, 512, {.step = 32, .max = large ? std::optional<std::int64_t>{384} : std::nullopt});
        const auto batch = trial.suggest_int("batch", 1, 50);
        trial.require(length * batch <= 16000, "too large");
        for (int i = 0; i < 8; ++i) trial.suggest_int("x" + std::to_string(i), 1, 10);
        if (large) trial.suggest_categorical("extra", wholes({1, 2, 3}));
    });
    std::uint64_t base = 0;
    std::uint64_t large = 0;
    for (int length = 32; length <= 512; length += 32) {
        for (int batch = 1; batch <= 50; ++batch) {
            if (length * batch > 16000) continue;
            base += 100'000'000;
            if (length <= 384) large += 300'000'000;
        }
    }
    CHECK(branched.exact);
    CHECK(branched.combinations == base + large);
    REQUIRE(branched.branches_by == "model");
    CHECK(branched.branches[0].combinations == base);
    CHECK(branched.branches[1].combinations == large);
}

TEST_CASE("a long axis multiplies where its sub-trees agree, else the count is at least") {
    const auto agreeing = count([](SpaceTrial& trial) {
        trial.suggest_int("seed", 1, 65535);
        trial.suggest_int("x", 1, 1'000'000);
        trial.suggest_int("y", 1, 7);
    });
    CHECK(agreeing.combinations == 65535ULL * 1'000'000 * 7);
    CHECK(agreeing.exact);

    const auto differing = count([](SpaceTrial& trial) {
        const auto x = trial.suggest_int("x", 1, 1'000'000);
        if (x > 123'456) trial.suggest_int("y", 1, 7);
    });
    CHECK_FALSE(differing.exact);
    CHECK(differing.combinations == 123'456 + 7 * (1'000'000 - 123'456ULL));
}

TEST_CASE("a requirement over all parameters is factored where few of their sums differ") {
    const auto counted = count([](SpaceTrial& trial) {
        std::int64_t sum = 0;
        for (int i = 0; i < 10; ++i) sum += trial.suggest_int("x" + std::to_string(i), 0, 9);
        trial.require(sum % 2 == 0, "odd");
    });
    CHECK(counted.exact);
    CHECK(counted.combinations == 5'000'000'000ULL);
}

TEST_CASE("what cannot be factored is counted as far as it was met") {
    const Space tangled = [](SpaceTrial& trial) {
        hpo::Seed all{1};
        for (int i = 0; i < 10; ++i) all = all.derive(static_cast<std::uint64_t>(trial.suggest_int("x" + std::to_string(i), 0, 9)));
        trial.require(all.value % 2 == 0, "half of them, without any rule");
    };
    const auto counted = count(tangled, {.enumerate_at_most = 5000});
    CHECK_FALSE(counted.exact);
    CHECK(counted.combinations > 1000);
    CHECK(counted.combinations < 5000);
}

TEST_CASE("a branch on a continuous value is not called exact") {
    const auto counted = count([](SpaceTrial& trial) {
        const double lr = trial.suggest_float("lr", 0, 1);
        if (lr > 0.7) trial.suggest_int("warmup", 1, 4);
        trial.suggest_int("x", 1, 3);
    });
    CHECK_FALSE(counted.exact);
    CHECK(counted.combinations >= 3);
}

TEST_CASE("more combinations than a number holds are at least the largest") {
    const auto counted = count([](SpaceTrial& trial) {
        for (int i = 0; i < 30; ++i) trial.suggest_int("x" + std::to_string(i), 1, 10);
    });
    CHECK_FALSE(counted.exact);
    CHECK(counted.combinations == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a grid finer than a number can count is at least the largest") {
    const auto counted = count([](SpaceTrial& trial) { trial.suggest_float("x", 0, 1e18, {.step = 1e-9}); });
    CHECK(counted.combinations == hpo::Axis::most);
    CHECK_FALSE(counted.exact);
}

TEST_CASE("a space that is not a function of its answers is refused") {
    int calls = 0;
    CHECK_THROWS_WITH(count([&](SpaceTrial& trial) {
                          trial.suggest_int("x", 1, 3);
                          if (++calls % 2 == 0) trial.suggest_int("y", 1, 3);
                      }),
                      Catch::Contains("other questions after the same answers"));
}

namespace {

/// A random conditional space of small axes: later ones may depend on the value of an earlier one, be narrowed by it, or
/// be refused together with it.
struct RandomSpace {
    struct Question {
        int size = 2;
        int parent = -1;  ///< asked only when the parent's value is below `below`
        int below = 1;
        int narrowed_by = -1;
        bool categorical = false;
    };
    std::vector<Question> questions;
    int refused_pair = -1;

    explicit RandomSpace(hpo::Rng rng) {
        const auto count = 1 + rng.below(6);
        for (std::uint64_t i = 0; i < count; ++i) {
            Question question;
            question.size = 1 + static_cast<int>(rng.below(5));
            question.categorical = rng.below(2) == 0;
            if (i > 0 && rng.below(2) == 0) {
                question.parent = static_cast<int>(rng.below(i));
                question.below = 1 + static_cast<int>(rng.below(3));
            }
            if (i > 0 && rng.below(3) == 0) question.narrowed_by = static_cast<int>(rng.below(i));
            questions.push_back(question);
        }
        if (count > 1 && rng.below(2) == 0) refused_pair = static_cast<int>(rng.below(count - 1));
    }

    /// The values 0, 1, ... that question `i` may take after `values`; empty when it is not asked.
    [[nodiscard]] int allowed(std::size_t i, const std::vector<int>& values) const {
        const Question& question = questions[i];
        if (question.parent >= 0 &&
            (values[static_cast<std::size_t>(question.parent)] < 0 || values[static_cast<std::size_t>(question.parent)] >= question.below))
            return 0;
        if (question.narrowed_by >= 0 && values[static_cast<std::size_t>(question.narrowed_by)] > 0) return std::min(question.size, 2);
        return question.size;
    }
    [[nodiscard]] bool refuses(std::size_t i, const std::vector<int>& values) const {
        return refused_pair >= 0 && i == static_cast<std::size_t>(refused_pair) + 1 && values[i] > 0 && values[i] == values[i - 1];
    }

    void operator()(SpaceTrial& trial) const {
        std::vector<int> values(questions.size(), -1);
        for (std::size_t i = 0; i < questions.size(); ++i) {
            const int most = allowed(i, values);
            if (most == 0) continue;
            const std::string name = "q" + std::to_string(i);
            const Question& question = questions[i];
            if (question.categorical) {
                std::vector<Value> choices;
                for (std::int64_t v = 0; v < question.size; ++v) choices.emplace_back(v);
                const std::vector<Value> only(choices.begin(), choices.begin() + most);
                values[i] = static_cast<int>(std::get<std::int64_t>(trial.suggest_categorical(name, choices, {.only = only})));
            } else {
                values[i] = static_cast<int>(trial.suggest_int(name, 0, question.size - 1, {.max = most - 1}));
            }
            trial.require(!refuses(i, values), "equal neighbours");
        }
    }

    /// Combinations by brute force over this description, without the space: accepted and refused ones.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> by_hand(std::size_t i, std::vector<int>& values, bool refused = false) const {
        if (i == questions.size())
            return refused ? std::pair<std::uint64_t, std::uint64_t>{0, 1} : std::pair<std::uint64_t, std::uint64_t>{1, 0};
        const int most = allowed(i, values);
        if (most == 0) return by_hand(i + 1, values, refused);
        std::pair<std::uint64_t, std::uint64_t> sum{0, 0};
        for (int v = 0; v < most; ++v) {
            values[i] = v;
            const auto below = by_hand(i + 1, values, refused || refuses(i, values));
            sum.first += below.first;
            sum.second += below.second;
        }
        values[i] = -1;
        return sum;
    }
};

}  // namespace

TEST_CASE("random conditional spaces count as brute force does, enumerated and factored") {
    for (std::uint64_t round = 0; round < 80; ++round) {
        CAPTURE(round);
        const RandomSpace space{hpo::Seed{3}.derive(round).rng()};
        std::vector<int> values(space.questions.size(), -1);
        const auto [accepted, refused] = space.by_hand(0, values);
        for (const CountOptions& options : {CountOptions{}, CountOptions{.enumerate_up_to = 0}}) {
            CAPTURE(options.enumerate_up_to);
            const auto counted = count(space, options);
            CHECK(counted.combinations == accepted);
            CHECK(counted.refused == refused);
            CHECK(counted.exact);
            CHECK(counted.refused_is == hpo::RefusedCount::exact);
        }
    }
}

TEST_CASE("fixed values leave the combinations that have them, or one error with what the branches have") {
    const Space space = [](SpaceTrial& trial) {
        const auto depth = trial.suggest_int("depth", 1, 4);
        trial.suggest_int("batch", 8, 64, {.step = 8, .max = 64 / depth});
        trial.suggest_categorical("kind", wholes({1, 2, 4}), {.only = wholes({depth > 2 ? 4 : 1})});
        trial.suggest_float("x", 0, 1);
    };
    using Fixed = std::vector<std::pair<std::string, Value>>;
    const auto depths = [&](const Fixed& fixed, std::string* error = nullptr) {
        std::string seen;
        hpo::FixedUses uses{fixed};
        const auto visit = [&](const hpo::ParamSet& params, bool refused) {
            if (refused) return;
            seen += std::to_string(static_cast<int>(*params.number("depth")));
            for (const auto& [name, value] : fixed) CHECK((!params.find(name) || params.value(name) == value));
        };
        (void)hpo::for_each_combination(hpo::with_fixed(space, uses), 1000, visit);
        CHECK((uses.refusals() > 0) == (error != nullptr || seen.size() < 4));
        if (error) *error = uses.nothing_left().what();
        return seen;
    };
    CHECK(depths({{"batch", std::int64_t{32}}, {"x", 0.25}, {"y", 1.0}}) == "12");
    CHECK(depths({{"kind", std::int64_t{4}}, {"batch", std::int64_t{8}}}) == "34");
    std::string error;
    CHECK(depths({{"y", 1.0}, {"batch", std::int64_t{9}}}, &error).empty());
    CHECK(error == "fixed parameter 'batch': got 9; expected one of int [8, 64] step 8, int [8, 32] step 8, int [8, 16] step 8");
    CHECK(depths({{"kind", std::int64_t{2}}}, &error).empty());
    CHECK(error == "fixed parameter 'kind': got 2; expected one of 1, 4");
    CHECK(depths({{"depth", std::int64_t{4}}, {"batch", std::int64_t{64}}}, &error).empty());
    CHECK(error == "fixed parameter 'batch': got 64; expected int [8, 16] step 8 beside depth=4");
    CHECK(depths({{"batch", std::int64_t{64}}, {"kind", std::int64_t{4}}}, &error).empty());
    CHECK(error == "fixed parameter 'kind': got 4; expected 1 beside batch=64");
}

TEST_CASE("a requirement in the middle of a space refuses whole combinations, however early it is asked") {
    for (const bool early : {true, false}) {
        CAPTURE(early);
        const Space space = [early](SpaceTrial& trial) {
            const auto kind = std::get<std::string>(trial.suggest_categorical("kind", texts({"a", "b"})));
            const auto x = trial.suggest_int("x", 1, 10);
            if (early) trial.require(x < 9 || kind == "b", "no");
            trial.suggest_int("y", 1, 10);
            if (kind == "b") trial.suggest_int("z", 1, 5);
            if (!early) trial.require(x < 9 || kind == "b", "no");
        };
        for (const CountOptions& options : {CountOptions{}, CountOptions{.enumerate_up_to = 0}}) {
            const auto counted = count(space, options);
            CHECK(counted.combinations == 8 * 10 + 10 * 10 * 5);
            CHECK(counted.refused == 2 * 10);
            CHECK(counted.refused_is == hpo::RefusedCount::exact);
            REQUIRE(counted.branches.size() == 2);
            CHECK(counted.branches[0].refused == 20);
            CHECK(counted.branches[1].refused == 0);
        }
    }
}

TEST_CASE("a space that cannot go on after a refusal has at least so many refused combinations") {
    const auto counted = count([](SpaceTrial& trial) {
        const auto low = trial.suggest_int("low", 1, 10);
        const auto high = trial.suggest_int("high", 1, 10);
        trial.require(low <= high, "low above high");
        trial.suggest_int("between", 1, 10, {.min = low, .max = high});
    });
    CHECK(counted.combinations == 220);  // the sum of high - low + 1
    CHECK(counted.exact);
    CHECK(counted.refused == 45);
    CHECK(counted.refused_is == hpo::RefusedCount::at_least);
}

TEST_CASE("where refused combinations cannot be counted, random ones say how many there are") {
    const auto counted = count([](SpaceTrial& trial) {
        hpo::Seed mixed{1};
        for (int i = 0; i < 7; ++i) mixed = mixed.derive(static_cast<std::uint64_t>(trial.suggest_int("x" + std::to_string(i), 1, 10)));
        trial.require(mixed.value % 7 != 0, "a pattern that no part of the space has to itself");
    });
    CHECK_FALSE(counted.exact);
    CHECK(counted.refused_is == hpo::RefusedCount::estimate);
    CHECK(static_cast<double>(counted.refused) == Approx(1e7 / 7).epsilon(0.1));
}

TEST_CASE("a count under fixed values is that of the branches which have them") {
    const Space space = [](SpaceTrial& trial) {
        const auto kind = std::get<std::string>(trial.suggest_categorical("kind", texts({"mlp", "cnn"})));
        if (kind == "mlp") trial.suggest_int("width", 1, 4);
        else trial.suggest_int("channels", 1, 7);
        const auto batch = trial.suggest_int("batch", 8, 64, {.step = 8, .max = kind == "mlp" ? 64 : 32});
        trial.suggest_float("lr", 1e-5, 1e-1, {.log = true});
        trial.suggest_float("dropout", 0, 0.5, {.step = 0.1});
        trial.require(batch != 24, "no");
    };
    using Fixed = std::vector<std::pair<std::string, Value>>;
    struct Expected {
        Fixed fixed;
        std::uint64_t combinations, refused;
        std::vector<std::string> continuous;
    };
    const std::vector<Expected> cases{{{}, (4 * 7 + 7 * 3) * 6, (4 + 7) * 6, {"lr"}},
                                      {{{"kind", std::string{"cnn"}}}, 7 * 3 * 6, 7 * 6, {"lr"}},
                                      {{{"batch", std::int64_t{64}}}, 4 * 6, 0, {"lr"}},
                                      {{{"batch", std::int64_t{24}}}, 0, (4 + 7) * 6, {"lr"}},
                                      {{{"lr", 0.01}, {"dropout", 0.3}}, 4 * 7 + 7 * 3, 4 + 7, {}},
                                      {{{"width", std::int64_t{3}}}, (7 + 7 * 3) * 6, (1 + 7) * 6, {"lr"}}};
    for (const Expected& expected : cases) {
        for (const CountOptions& options : {CountOptions{}, CountOptions{.enumerate_up_to = 0}}) {
            CAPTURE(expected.fixed.size(), options.enumerate_up_to);
            hpo::FixedUses uses{expected.fixed};
            const auto counted = count(hpo::with_fixed(space, uses), options);
            CHECK(counted.combinations == expected.combinations);
            CHECK(counted.refused == expected.refused);
            CHECK(counted.continuous == expected.continuous);
            CHECK(counted.exact);
        }
    }
}
