// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "hpo/tuner/study_event.hpp"

namespace hpo::tune {

/// Tells several observers of a study, in their order.
class Observers final : public TuneObserver {
public:
    explicit Observers(std::vector<TuneObserver*> all) : all_{std::move(all)} {}

    void on(const StudyEvent& event) override {
        for (TuneObserver* each : all_) each->on(event);
    }

private:
    std::vector<TuneObserver*> all_;
};

}  // namespace hpo::tune
