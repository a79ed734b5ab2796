// SPDX-License-Identifier: MIT
#include "hpo/sampler/parameter_groups.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

using hpo::sampler::ParameterGroups;
using Group = ParameterGroups::Group;

namespace {

hpo::ParamSet of(const std::vector<std::string>& names) {
    hpo::ParamSet params;
    for (const std::string& name : names) params.set(name, hpo::FloatDistribution{0, 1, false, {}}, 0.5);
    return params;
}

}  // namespace

TEST_CASE("parameters are in one group as long as each trial has both or neither") {
    ParameterGroups groups;
    groups.take_in(of({"x", "y"}));
    CHECK(groups.groups() == std::vector<Group>{{"x", "y"}});
    groups.take_in(of({"y", "x", "z"}));
    CHECK(groups.groups() == std::vector<Group>{{"x", "y"}, {"z"}});
    groups.take_in(of({"x", "v", "w"}));
    CHECK(groups.groups() == std::vector<Group>{{"x"}, {"y"}, {"z"}, {"v", "w"}});
    groups.take_in(of({}));
    CHECK(groups.groups().size() == 4);
    CHECK(groups.group_of("v") == groups.group_of("w"));
    CHECK(groups.group_of("x") != groups.group_of("y"));
    CHECK(groups.group_of("never") == 4);
}
