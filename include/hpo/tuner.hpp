// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/tuner/asking/expected_space.hpp"
#include "hpo/tuner/fixed_names.hpp"
#include "hpo/tuner/in_process.hpp"
#include "hpo/tuner/live_session.hpp"
#include "hpo/tuner/session.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo {

/// An objective that asks for its parameters while it runs: `f(LiveTrial&)` returns one value, or one for each direction.
template <class F>
concept LiveObjective = std::invocable<F&, LiveTrial&>;

/// A trial function whose parameters are known before it runs: `f(RunningJob&)` returns one value, or one for each direction.
template <class F>
concept JobFunction = std::invocable<F&, tuner::RunningJob&>;

/// A reference to a store, or to a temporary one that lives for the call.
class StoreArgument {
public:
    StoreArgument(Store& store) : store_{store} {}  // implicit, because it stands for the store itself
    StoreArgument(Store&& store) : store_{store} {}
    operator Store&() const noexcept { return store_; }

private:
    Store& store_;
};

/// Composes four policies into an optimiser. Each call takes the store and whatever runs the trials as arguments.
///
///     hpo::Tuner tuner{hpo::sampler::Tpe{}};
///     hpo::Tuner careful{hpo::sampler::Tpe{}, hpo::pruner::Median{}, MyGuard{}, hpo::recovery::ShrinkMicroBatch{}};
///
/// Policies that are not given change nothing in a study whose trials all end well: no trial is stopped early and no memory is estimated,
/// because nobody asked for either. A trial that runs out of its device's memory ends as PRUNED, because only then the sampler learns where
/// memory ends. Any other failure ends its trial as FAIL.
///
/// Thread safety: none. All calls throw Error for wrong use and for a store that fails. A trial's failure never throws.
template <Sampler S, Pruner P = pruner::None, MemoryGuard G = guard::Unlimited, RecoveryPolicy R = recovery::Prune>
class Tuner {
public:
    explicit Tuner(S sampler) : Tuner{std::move(sampler), P{}} {}
    Tuner(S sampler, P pruner, G guard = G{}, R recovery = R{})
        : policies_{std::move(sampler), std::move(pruner), std::move(guard), std::move(recovery)} {}

    /// Runs a define-by-run study in this process. `objective(LiveTrial&)` returns the value. The parameters are known only while it runs,
    /// so no guard can be asked. The guard must be `Unlimited`.
    template <LiveObjective F>
    TuneResult optimize(StoreArgument store, const std::string& study, F&& objective, const TuneOptions& options = {},
                        TuneObserver& observer = silent()) {
        static_assert(std::is_same_v<G, guard::Unlimited>,
                      "a memory guard has to know the parameters before the trial runs: give `optimize` the space as a function of "
                      "SpaceTrial&, and let the objective take tuner::RunningJob& instead of LiveTrial&; or use guard::Unlimited");
        tuner::Bookkeeping books{store, study, options, observer};
        tuner::LiveSession session{policies_, books, options, observer};
        const bool interrupted = session.run([&](LiveTrial& trial) { return tuner::as_values(objective(trial)); });
        TuneResult result = books.take_result(interrupted, session.broken(), session.all_tried());
        result.unused_fixed = tuner::unused_fixed(result.trials, options);
        if (!interrupted && !result.broken) tuner::require_asked_names(result.trials, options);
        return result;
    }

    /// Runs a study in this process whose parameters are known before each trial runs. `job(RunningJob&)` returns the value.
    template <JobFunction F>
    TuneResult optimize(StoreArgument store, const std::string& study, const Space& space, F&& job, const TuneOptions& options = {},
                        TuneObserver& observer = silent()) {
        tuner::InProcess executor{[&](tuner::RunningJob& running) { return job(running); }};
        return optimize(store, study, space, static_cast<Executor&>(executor), options, observer);
    }

    /// Does not compile: a function of RunningJob& needs the space.
    template <JobFunction F>
    requires(!LiveObjective<F>) TuneResult
        optimize(StoreArgument, const std::string&, F&&, const TuneOptions& = {}, TuneObserver& = silent()) {
        static_assert(!JobFunction<F>,
                      "the parameters of a RunningJob& are known before it runs: give `optimize` the space, a function of SpaceTrial&, "
                      "before this function");
        return {};
    }
    /// Does not compile: a function of LiveTrial& asks for its parameters itself.
    template <LiveObjective F>
    requires(!JobFunction<F>) TuneResult
        optimize(StoreArgument, const std::string&, const Space&, F&&, const TuneOptions& = {}, TuneObserver& = silent()) {
        static_assert(!LiveObjective<F>,
                      "an objective that takes LiveTrial& asks for its parameters itself: let it take tuner::RunningJob&, or leave out "
                      "the space");
        return {};
    }

    /// Runs a study on an executor of your own, such as worker processes or another machine.
    TuneResult optimize(StoreArgument store, const std::string& study, const Space& space, Executor& executor,
                        const TuneOptions& options = {}, TuneObserver& observer = silent()) {
        const TuneDevice device{options.plan.device, executor, options.reservations, options.predicts};
        return optimize(store, study, space, std::span{&device, 1}, options, observer);
    }

    /// Runs a study on several devices at once. `space` is not asked if the trials ask for their parameters themselves. Each has its
    /// executor and its reservations. Those of `options` are not used, and neither is the device of its plan.
    TuneResult optimize(StoreArgument store, const std::string& study, const Space& space, std::span<const TuneDevice> devices,
                        const TuneOptions& options = {}, TuneObserver& observer = silent()) {
        if (!options.asks_while_running()) tuner::require_fixed_names(space, options);
        tuner::Bookkeeping books{store, study, options, observer};
        const Space expected = [&books](SpaceTrial& trial) { tuner::ask_expected(trial, books.history().trials); };
        tuner::Session session{policies_, books, options.asks_while_running() ? expected : space, devices, options, observer};
        const bool interrupted = session.run();
        TuneResult result = books.take_result(interrupted, session.broken(), session.all_tried(), session.exhausted());
        result.unused_fixed = tuner::unused_fixed(result.trials, options);
        return result;
    }

private:
    static TuneObserver& silent() {
        static SilentObserver observer;
        return observer;
    }

    tuner::Policies<S, P, G, R> policies_;
};

}  // namespace hpo
