// SPDX-License-Identifier: MIT
#include "hpo/space/inferred_space.hpp"

#include "support/catch.hpp"

using hpo::Distribution;
using hpo::FloatDistribution;
using hpo::IntDistribution;
using hpo::Trial;

namespace {

Trial with(std::initializer_list<std::pair<std::string, Distribution>> params, hpo::TrialState state = hpo::TrialState::complete) {
    Trial trial;
    trial.state = state;
    for (const auto& [name, distribution] : params) trial.params.set(name, distribution, 0);
    return trial;
}

std::string names(const std::vector<hpo::Dimension>& space) {
    std::string text;
    for (const hpo::Dimension& dimension : space) text += dimension.name;
    return text;
}

const Distribution unit = FloatDistribution{0, 1};
const Distribution wide = FloatDistribution{0, 9};
const Distribution whole = IntDistribution{0, 1};

}  // namespace

TEST_CASE("the joint space is the union in order of first appearance") {
    CHECK(hpo::inferred_space({}).empty());
    const std::vector<Trial> trials{with({{"a", unit}, {"c", unit}}), with({{"b", whole}, {"a", unit}}),
                                    with({{"c", unit}, {"a", unit}, {"d", unit}})};
    CHECK(names(hpo::inferred_space(trials)) == "acbd");
}

TEST_CASE("a range that changed is as the latest trial had it") {
    const std::vector<Trial> trials{with({{"a", unit}}), with({{"a", wide}})};
    CHECK(*hpo::inferred_space(trials)[0].distribution == wide);
}

TEST_CASE("a parameter that changed its kind is left out, even if it changed back") {
    const std::vector<Trial> trials{with({{"a", unit}, {"b", unit}}), with({{"a", whole}, {"b", unit}}), with({{"a", unit}})};
    CHECK(names(hpo::inferred_space(trials)) == "b");
}

TEST_CASE("only the trials that count are looked at") {
    const std::vector<Trial> trials{with({{"a", unit}}, hpo::TrialState::fail), with({{"b", unit}})};
    CHECK(names(hpo::inferred_space(trials, [](const Trial& trial) { return trial.state == hpo::TrialState::complete; })) == "b");
}
