// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hpo/pruner/concept.hpp"
#include "hpo/testing/contract_report.hpp"

namespace hpo::testing {

/// The rules for every pruner. `make()` returns a new one each time.
template <std::invocable Make>
requires Pruner<std::invoke_result_t<Make>>
[[nodiscard]] ContractReport pruner_contract(const Make& make) {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    ContractReport report;
    for (const int size : {0, 1, 12, 1000}) {
        std::vector<Trial> trials;
        for (int i = 0; i < size; ++i) {
            Trial& trial = trials.emplace_back();
            trial.number = i;
            trial.state = static_cast<TrialState>(i % 5);
            for (int step = 0; step < i % 11; ++step) {
                const int kind = (i + step) % 17;
                trial.intermediate[step * 2] = kind == 3 ? std::nan("") : kind == 5 ? infinity : kind == 7 ? -infinity : i % 23 - step;
            }
        }
        for (const Direction direction : {Direction::minimize, Direction::maximize}) {
            const std::array directions{direction};
            const History history{"contract", directions, trials, {}};
            const std::string with = " (with " + std::to_string(size) + " trials)";
            try {
                auto pruner = make();
                Trial silent;
                silent.number = size;
                report.expect(!pruner.judge({silent, 0, direction, history}).prunes(), "a trial without a report is kept" + with);
                for (const double value : {0.0, -1e300, 1e300, infinity, -infinity, std::nan("")}) {
                    Trial trial;
                    trial.number = size;
                    for (std::int64_t step = 0; step < 30; step += 3) {
                        trial.intermediate[step] = value;
                        const PruneQuery query{trial, step, direction, history};
                        const Verdict verdict = pruner.judge(query);
                        report.expect(!verdict.prunes() || !verdict.reason.empty(), "a pruned trial is told why" + with);
                        auto twin = make();
                        auto moved = std::move(twin);
                        const Verdict again = moved.judge(query);
                        report.expect(again.answer == verdict.answer && again.reason == verdict.reason,
                                      "the same query gives the same verdict" + with);
                    }
                }
            } catch (const std::exception& error) {
                report.expect(false, std::string{"no verdict throws"} + with + ": " + error.what());
            }
        }
    }
    try {
        // A study that grows, whose trials end in another order than they began, and then another study of the same name.
        auto follower = make();
        std::vector<Trial> trials;
        const std::array directions{Direction::minimize};
        for (const int sign : {1, -1}) {
            trials.clear();
            for (int round = 0; round < 40; ++round) {
                Trial& started = trials.emplace_back();
                started.number = round;
                for (int step = 0; step < 3; ++step) started.intermediate[step] = sign * ((round * 7 + step * 3) % 11);
                if (round % 3 == 2) trials[static_cast<std::size_t>(round - 2)].state = TrialState::complete;
                if (round % 3 == 1) trials[static_cast<std::size_t>(round)].state = TrialState::pruned;
                Trial asked;
                asked.number = round + 1;
                asked.intermediate[2] = 4;
                const History history{"growing", directions, trials, {}};
                const PruneQuery query{asked, 2, Direction::minimize, history};
                const Verdict followed = follower.judge(query), anew = make().judge(query);
                report.expect(followed.answer == anew.answer && followed.reason == anew.reason,
                              "what was asked before does not change a verdict (with " + std::to_string(round + 1) + " trials)");
            }
        }
    } catch (const std::exception& error) {
        report.expect(false, std::string{"no verdict throws in a study that grows: "} + error.what());
    }
    return report;
}

}  // namespace hpo::testing
