// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
// Catch2 comes first: the contract is made of its macros.
#include "hpo/store/in_memory.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/testing/store_contract.hpp"
#include "support/temporary_directory.hpp"

TEST_CASE("the store in memory keeps the contract") {
    hpo::testing::check_store_contract([] { return std::make_unique<hpo::store::InMemory>(); });
}

TEST_CASE("the SQLite store keeps the contract") {
    const hpo::tests::TemporaryDirectory directory;
    hpo::testing::check_store_contract([&] { return std::make_unique<hpo::store::Sqlite>(directory.file("hpo.db")); });
}
