// SPDX-License-Identifier: MIT
#include "hpo/recovery/prune.hpp"

#include "support/catch.hpp"

TEST_CASE("prune ends the memory kinds as PRUNED and the others as FAIL") {
    for (std::size_t i = 0; i < hpo::failure_kind_names.size(); ++i) {
        hpo::Failure failure;
        failure.kind = static_cast<hpo::FailureKind>(i);
        const auto recovery = hpo::recovery::Prune{}.recover({hpo::Trial{}, hpo::Attempt{}, failure, hpo::History{}});
        const bool memory = failure.kind == hpo::FailureKind::out_of_memory || failure.kind == hpo::FailureKind::host_out_of_memory ||
                            failure.kind == hpo::FailureKind::predicted_oom;
        CAPTURE(hpo::to_text(failure.kind));
        CHECK(recovery.action == (memory ? hpo::Recovery::Action::prune : hpo::Recovery::Action::fail));
    }
}
