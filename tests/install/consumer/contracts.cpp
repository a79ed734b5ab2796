// The contract suites as a project of its own uses them, with Catch2 2 or 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include <memory>
#include <string>
#include <vector>

#include "hpo/hpo.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/testing/guard_contract.hpp"
#include "hpo/testing/pruner_contract.hpp"
#include "hpo/testing/recovery_contract.hpp"
#include "hpo/testing/sampler_contract.hpp"
#include "hpo/testing/saving_contract.hpp"
#include "hpo/testing/store_contract.hpp"
#include "hpo/testing/trainer_contract.hpp"

TEST_CASE("the store in memory keeps the rules of every store") {
    hpo::testing::check_store_contract([]() -> std::unique_ptr<hpo::Store> { return std::make_unique<hpo::store::InMemory>(); });
}

TEST_CASE("policies keep the rules of their kind") {
    const std::vector<std::string> none;
    CHECK(hpo::testing::sampler_contract([] { return hpo::sampler::Tpe{}; }).broken == none);
    CHECK(hpo::testing::pruner_contract([] { return hpo::pruner::Median{}; }).broken == none);
    CHECK(hpo::testing::guard_contract([] { return hpo::guard::Unlimited{}; }).broken == none);
    CHECK(hpo::testing::recovery_contract([] { return hpo::recovery::Fail{}; }).broken == none);
}
