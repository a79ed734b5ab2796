// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hpo/tuner/options.hpp"

namespace hpo::tune {

/// Tells several observers of a study, in their order.
class Observers final : public TuneObserver {
public:
    explicit Observers(std::vector<TuneObserver*> all) : all_{std::move(all)} {}

    void study_opened(const Study& study, const std::vector<Trial>& trials) override { tell(&TuneObserver::study_opened, study, trials); }
    void goes_on(const Trial& trial, const Trial& lost) override { tell(&TuneObserver::goes_on, trial, lost); }
    void begins_anew(const Trial& lost, const std::string& why) override { tell(&TuneObserver::begins_anew, lost, why); }
    void left_alone(const Trial& lost, const std::string& why) override { tell(&TuneObserver::left_alone, lost, why); }
    void left_out(const Trial& trial, const std::string& what) override { tell(&TuneObserver::left_out, trial, what); }
    void retry_noted(const Trial& trial, const std::string& what) override { tell(&TuneObserver::retry_noted, trial, what); }
    void attempt_waits(const Trial& trial, const Attempt& attempt, const AttemptWait& wait) override {
        tell(&TuneObserver::attempt_waits, trial, attempt, wait);
    }
    void attempt_started(const Trial& trial, const Attempt& attempt) override { tell(&TuneObserver::attempt_started, trial, attempt); }
    void reported(const Trial& trial, const Report& report) override { tell(&TuneObserver::reported, trial, report); }
    void memory_marked(const Trial& trial, const MemoryMark& mark) override { tell(&TuneObserver::memory_marked, trial, mark); }
    void attempt_ended(const Trial& trial, const Attempt& attempt) override { tell(&TuneObserver::attempt_ended, trial, attempt); }
    void mispredicted(const Trial& trial, const std::string& how) override { tell(&TuneObserver::mispredicted, trial, how); }
    void attribute_dropped(const Trial& trial, const DroppedAttribute& dropped) override {
        tell(&TuneObserver::attribute_dropped, trial, dropped);
    }
    void source_given_up(const std::string& source, const std::string& family) override {
        tell(&TuneObserver::source_given_up, source, family);
    }
    void all_wait(std::size_t trials, double seconds) override { tell(&TuneObserver::all_wait, trials, seconds); }
    void device_left_out(const std::string& device, double seconds, const Failure& latest) override {
        tell(&TuneObserver::device_left_out, device, seconds, latest);
    }
    void replayed(const Trial& trial, const std::string& told) override { tell(&TuneObserver::replayed, trial, told); }
    void trial_finished(const Trial& trial) override { tell(&TuneObserver::trial_finished, trial); }
    void rejected(const Rejection& rejection) override { tell(&TuneObserver::rejected, rejection); }
    void others_changed(const std::vector<Trial>& trials) override { tell(&TuneObserver::others_changed, trials); }
    void waiting_for_others(std::int64_t missing) override { tell(&TuneObserver::waiting_for_others, missing); }
    void idle() override { tell(&TuneObserver::idle); }

private:
    template <class... Parameters, class... Args>
    void tell(void (TuneObserver::*call)(Parameters...), const Args&... args) {
        for (TuneObserver* each : all_) (each->*call)(args...);
    }

    std::vector<TuneObserver*> all_;
};

}  // namespace hpo::tune
