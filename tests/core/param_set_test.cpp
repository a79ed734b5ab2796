// SPDX-License-Identifier: MIT
#include "hpo/core/param_set.hpp"

#include <cstdint>
#include <string>

#include "support/catch.hpp"

using namespace hpo;

namespace {

ParamSet some_params() {
    ParamSet params;
    params.set("lr", FloatDistribution{0, 1}, 0.25);
    params.set("layers", IntDistribution{-300, 300}, -2);
    params.set("model", CategoricalDistribution{{Value{"small"}, Value{"large"}}}, 1);
    params.set("shuffle", CategoricalDistribution{{Value{false}, Value{true}}}, 1);
    params.set("batch", CategoricalDistribution{{Value{std::int64_t{32}}, Value{std::int64_t{300}}}}, 1);
    return params;
}

}  // namespace

TEST_CASE("a parameter that a trial has is read as the type that a program wants") {
    const ParamSet params = some_params();
    CHECK(params.get<double>("lr") == 0.25);
    CHECK(params.get<float>("lr") == 0.25F);
    CHECK(params.get<int>("layers") == -2);
    CHECK(params.get<double>("layers") == -2.0);
    CHECK(params.get<std::string>("model") == "large");
    CHECK(params.get<bool>("shuffle"));
    CHECK(params.get<std::int64_t>("batch") == 300);
    CHECK(params.get<std::size_t>("batch") == 300);
    CHECK(params.get<Value>("batch") == Value{std::int64_t{300}});
}

TEST_CASE("a parameter that a trial does not have is an error that names those that it has") {
    CHECK_THROWS_WITH(some_params().get<double>("lrr"),
                      "unknown parameter 'lrr'; did you mean 'lr'?; known: lr, layers, model, shuffle, batch");
    CHECK_THROWS_WITH(ParamSet{}.get<int>("k"), "unknown parameter 'k'; known: none");
}

TEST_CASE("a parameter of another type is an error that names its value") {
    const ParamSet params = some_params();
    CHECK_THROWS_WITH(params.get<int>("lr"), "parameter 'lr': got 0.25; expected a whole number");
    CHECK_THROWS_WITH(params.get<double>("model"), "parameter 'model': got large; expected a number");
    CHECK_THROWS_WITH(params.get<std::string>("lr"), "parameter 'lr': got 0.25; expected a text");
    CHECK_THROWS_WITH(params.get<bool>("layers"), "parameter 'layers': got -2; expected true or false");
}

TEST_CASE("a whole number that does not fit the type is an error and is not cut") {
    const ParamSet params = some_params();
    CHECK_THROWS_WITH(params.get<signed char>("batch"), "parameter 'batch': got 300; expected a whole number that fits into 8 bits");
    CHECK_THROWS_WITH(params.get<unsigned>("layers"),
                      "parameter 'layers': got -2; expected a whole number that fits into 32 bits, 0 or more");
    CHECK_THROWS(params.get<std::uint64_t>("layers"));
}
