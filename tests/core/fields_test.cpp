// SPDX-License-Identifier: MIT
#include "hpo/core/fields.hpp"

#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "hpo/testing/trial_text.hpp"
#include "support/catch.hpp"

namespace {

struct Weight {
    std::string name;
    std::int64_t size = 0;
    std::int64_t held_bytes = 0;
    double age = 0;

    static constexpr void fields(auto field) {
        field("name", &Weight::name);
        field("size", &Weight::size, {.unit = hpo::Unit::bytes});
        field("held_bytes", &Weight::held_bytes, {.unit = hpo::Unit::bytes, .column = "held"});
        field("age", &Weight::age, {.unit = hpo::Unit::seconds, .key = "age_seconds"});
    }
};
static_assert(hpo::Described<Weight> && hpo::Described<hpo::Attempt> && !hpo::Described<hpo::ParamSet> && !hpo::Described<int>);
static_assert(hpo::described_members<Weight> == 4);

/// Each member of a record that is equal in both.
template <hpo::Described R>
std::vector<std::string> equal_members(const R& a, const R& b) {
    std::vector<std::string> names;
    hpo::each_field<R>([&](const auto& field) {
        if (hpo::testing::text_of(a.*field.member) == hpo::testing::text_of(b.*field.member)) names.emplace_back(field.name);
    });
    return names;
}

}  // namespace

TEST_CASE("a member is called by its name, with its unit, unless it says another key or column") {
    std::vector<std::string> keys, columns;
    hpo::each_field<Weight>([&](const auto& field) {
        keys.push_back(field.key());
        columns.push_back(field.column());
    });
    CHECK(keys == std::vector<std::string>{"name", "size_bytes", "held_bytes", "age_seconds"});
    CHECK(columns == std::vector<std::string>{"name", "size_bytes", "held", "age_seconds"});
}

TEST_CASE("each member of the sample that stores have to keep differs from its default") {
    const hpo::Attempt sample = hpo::testing::sample_attempt(1);
    CHECK(equal_members(sample, hpo::Attempt{}) == std::vector<std::string>{});
    CHECK(equal_members(*sample.failure, hpo::Failure{}) == std::vector<std::string>{});
    CHECK(equal_members(*sample.estimate, hpo::Estimate{}) == std::vector<std::string>{});
    CHECK(equal_members(sample.plan, hpo::ExecutionPlan{}) == std::vector<std::string>{});
    CHECK(equal_members(sample.memory.at(1), hpo::MemoryMark{}) == std::vector<std::string>{});
    CHECK(equal_members(sample.memory.at(1).reading, hpo::MemoryReading{}) == std::vector<std::string>{});
    CHECK(equal_members(hpo::testing::sample_rejection(), hpo::Rejection{}) == std::vector<std::string>{});
}
