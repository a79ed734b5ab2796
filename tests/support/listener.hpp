// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <variant>

#include "hpo/base/cases.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo::test {

/// Calls the function that takes an event, and leaves out the events that none of its functions takes:
/// `Listener listener{[&](const event::TrialFinished& event) { ended.push_back(event.trial.number); }};`
template <class... Functions>
class Listener final : public TuneObserver {
public:
    explicit Listener(Functions... functions) : functions_{std::move(functions)..., LeaveOut{}} {}
    void on(const StudyEvent& event) override { std::visit(functions_, event); }

private:
    struct LeaveOut {
        template <class Event>
        void operator()(const Event& /*event*/) const {}
    };
    Cases<Functions..., LeaveOut> functions_;
};

}  // namespace hpo::test
