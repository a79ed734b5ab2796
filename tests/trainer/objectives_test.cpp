// SPDX-License-Identifier: MIT
#include "hpo/trainer/objectives.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace hpo;

namespace {

AttemptOutcome outcome_of(std::vector<double> values) {
    AttemptOutcome outcome;
    outcome.kind = OutcomeKind::complete;
    outcome.values = std::move(values);
    outcome.attributes["f1"] = 0.8;
    outcome.attributes.set_text("data", "text");
    outcome.seconds = 12.5;
    outcome.peak_allocated = 1000;
    return outcome;
}

AttemptOutcome answered(AttemptOutcome outcome, std::vector<std::string> objectives) {
    TrainerJob job;
    job.metric = reported_metric(objectives);
    job.objectives = std::move(objectives);
    complete_values(outcome, job);
    return outcome;
}

}  // namespace

TEST_CASE("an outcome gets a value for each objective: returned, told as an attribute, or measured") {
    CHECK(answered(outcome_of({0.3}), {"loss", "f1", "seconds", "peak_memory_bytes"}).values == std::vector<double>{0.3, 0.8, 12.5, 1000});
    CHECK(answered(outcome_of({0.3}), {"seconds", "loss"}).values == std::vector<double>{12.5, 0.3});
    CHECK(answered(outcome_of({1, 2}), {"loss", "f1"}).values == std::vector<double>{1, 2});  // the trainer knows both
    CHECK(answered(outcome_of({0.3}), {"loss"}).values == std::vector<double>{0.3});
    AttemptOutcome reserved = outcome_of({0.3});
    reserved.peak_reserved = 2000;
    CHECK(answered(reserved, {"loss", "peak_memory_bytes"}).values == std::vector<double>{0.3, 2000});
    AttemptOutcome told = outcome_of({0.3});
    told.attributes["seconds"] = 3;  // a trainer's own metric of that name is meant
    CHECK(answered(told, {"loss", "seconds"}).values == std::vector<double>{0.3, 3});
}

TEST_CASE("an outcome that lacks an objective has failed, and says which") {
    for (const char* missing : {"accuracy", "data"}) {
        const AttemptOutcome outcome = answered(outcome_of({0.3}), {"loss", missing});
        CHECK(outcome.kind == OutcomeKind::failed);
        REQUIRE(outcome.failure);
        CHECK(outcome.failure->message == "the trainer told no number for the objective '" + std::string{missing} + "'");
    }
    AttemptOutcome unmeasured = outcome_of({0.3});
    unmeasured.peak_allocated.reset();
    CHECK(answered(unmeasured, {"loss", "peak_memory_bytes"}).failure);
    AttemptOutcome stopped = outcome_of({});
    stopped.kind = OutcomeKind::stopped;
    CHECK(answered(stopped, {"loss", "f1"}).kind == OutcomeKind::stopped);
    CHECK(reported_metric({"seconds", "f1"}) == "f1");
    CHECK(reported_metric({"seconds"}).empty());
}
