// SPDX-License-Identifier: MIT
#include "tune/display/observers.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/listener.hpp"

using namespace hpo;

TEST_CASE("several observers of a study are told each event, in their order") {
    std::vector<std::string> told;
    const auto observer = [&](const std::string& name) {
        return test::Listener{
            [&told, name](const event::TrialFinished& event) { told.push_back(name + std::to_string(event.trial.number)); },
            [&told, name](const event::Idle&) { told.push_back(name + " idle"); }};
    };
    auto first = observer("a");
    auto second = observer("b");
    tune::Observers observers{{&first, &second}};
    Trial trial;
    trial.number = 7;
    observers.on(event::TrialFinished{trial});
    observers.on(event::Idle{});
    CHECK(told == std::vector<std::string>{"a7", "b7", "a idle", "b idle"});
}
