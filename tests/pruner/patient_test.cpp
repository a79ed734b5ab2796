// SPDX-License-Identifier: MIT
#include "hpo/pruner/patient.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "pruner/decisions.hpp"
#include "support/catch.hpp"

using hpo::Direction;
using hpo::pruner::Patient;

TEST_CASE("patient decides as Optuna's PatientPruner without a pruner inside") {
    // Recorded once with optuna 5.0.0.
    const auto sequences = hpo::tests::recorded_reports();
    struct Case {
        Patient::Config config;
        Direction direction;
        std::vector<std::string> decisions;
    };
    const std::vector<Case> cases{
        {{0, 0}, Direction::minimize, {"0000000111", "000111", "0000110", "0000", "000000", "00111"}},
        {{1, 0}, Direction::minimize, {"0000000011", "000011", "0000111", "0000", "000000", "00011"}},
        {{2, 0}, Direction::minimize, {"0000000001", "000001", "0000111", "0000", "000000", "00001"}},
        {{2, 0.2}, Direction::minimize, {"0000000000", "000001", "0000111", "0000", "000000", "00001"}},
        {{3, 0}, Direction::minimize, {"0000000000", "000000", "0000111", "0000", "000000", "00000"}},
        {{0, 0}, Direction::maximize, {"0111111111", "000000", "0000000", "0000", "011111", "01001"}},
        {{1, 0}, Direction::maximize, {"0011111111", "000000", "0000000", "0000", "001111", "00000"}},
        {{2, 0.2}, Direction::maximize, {"0001111111", "000000", "0000000", "0000", "000000", "00000"}},
        {{3, 0}, Direction::maximize, {"0000111111", "000000", "0000000", "0000", "000011", "00000"}},
    };
    for (const Case& expected : cases) {
        CAPTURE(expected.config.patience, expected.config.min_delta, to_text(expected.direction));
        for (std::size_t i = 0; i < sequences.size(); ++i)
            CHECK(hpo::tests::decisions_of(Patient{expected.config}, sequences[i], expected.direction) == expected.decisions[i]);
    }
}

TEST_CASE("options of patient that cannot be are refused") {
    CHECK_THROWS_WITH((Patient{{.patience = -1}}), "patience: got -1; expected 0 or more");
    CHECK_THROWS_WITH((Patient{{.min_delta = std::nan("")}}), Catch::Contains("expected 0 or more"));
}
