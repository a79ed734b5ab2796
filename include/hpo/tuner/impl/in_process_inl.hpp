// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/tuner/in_process.hpp"

namespace hpo::tuner {

HPO_INLINE bool RunningJob::report(std::int64_t step, double value) {
    try {
        stopped_ = events_.on_report(job_.trial, Report{.step = step, .value = value, .is_last = step == last_step_}) || stopped_;
    } catch (...) {
        listener_error_ = std::current_exception();
        throw;
    }
    return stopped_;
}

HPO_INLINE Failure current_failure() {
    try {
        throw;
    } catch (const std::bad_alloc& error) {
        return classify_text({.type = "std::bad_alloc", .message = error.what()});
    } catch (const std::exception& error) {
        return classify_text({.type = "std::exception", .message = error.what()});
    } catch (...) {
        return classify_text({.type = {}, .message = "an exception that is no std::exception"});
    }
}

HPO_INLINE void InProcess::submit(const Job& job, ExecutorEvents& events) {
    events.on_started(job.trial, 0);
    RunningJob running{job, events};
    AttemptOutcome outcome = run_attempt([&] { return function_(running); }, [&] { return running.stopped(); });
    running.rethrow_listener_error();
    outcome.log = running.take_log();
    events.on_end(job.trial, std::move(outcome));
}

}  // namespace hpo::tuner
