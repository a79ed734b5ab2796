// SPDX-License-Identifier: MIT
#include "hpo/recovery/fail.hpp"

#include "support/catch.hpp"

TEST_CASE("fail ends every failure as FAIL and says which kind it was") {
    hpo::Failure failure;
    failure.kind = hpo::FailureKind::out_of_memory;
    const auto recovery = hpo::recovery::Fail{}.recover({hpo::Trial{}, hpo::Attempt{}, failure, hpo::History{}});
    CHECK(recovery.action == hpo::Recovery::Action::fail);
    CHECK(recovery.reason == "out_of_memory");
}
