// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/guard/learned/named_law.hpp"
#include "hpo/registry/any_memory_guard.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::worker {
class Pool;
}
namespace hpo::store {
class StoredPredictions;
}

namespace hpo::tune {

/// Whether a configuration fits its device.
enum class Fit {
    as_it_is,
    smaller,  ///< with a smaller micro-batch
    never,    ///< at no micro-batch
    unknown,  ///< nobody can predict it
};

/// What one attempt would take.
struct Forecast {
    Estimate estimate;         ///< without a need where nobody can predict it
    bool predicted = false;    ///< the estimate was made of a prediction, and not of a formula or a cap
    double uncertainty = 0;    ///< of the prediction that the estimate was made of
    bool upper_bound = false;  ///< of the same
    std::string remark;        ///< what limits the prediction, or why there is none
};

/// The largest micro-batch that fits a device.
struct LargestMicroBatch {
    std::int64_t examples = 1;
    /// Larger ones fit as well, and need as much: the training has no more examples, or something else takes most.
    bool larger_need_no_more = false;
};

/// Predicts, with a guard, what configurations of a study take; a worker trains nothing for it. The device need not be there.
class Estimator {
public:
    struct Options {
        std::string guard;                                          ///< as it is written on a command line
        std::string device;                                         ///< of the plans
        std::optional<std::int64_t> capacity_bytes;                 ///< that estimates are held against
        std::optional<std::chrono::milliseconds> answer_timeout{};  ///< for each answer of a worker; `--plugin-timeout` when not set
        std::function<void(const std::string&)> note{};
        store::StoredPredictions* kept = nullptr;  ///< where predictions are looked up and kept; null: nowhere
        /// What attempts on a device of this name have taken, for a guard that learns from it; not set: nothing.
        std::function<std::vector<Attempt>(const std::string& device_name)> measured{};
        /// What the study has run, for a trainer that tells no peaks before launch; the guard and a law learn from it.
        std::vector<Trial> trials{};
        /// The same of other studies that ran the same program (read_same_program).
        std::vector<Trial> same_program{};
    };
    /// Throws Error for a guard that there is not, and for a trainer that cannot be had.
    Estimator(const Settings& settings, const TrainerInfo& info, Options options);
    Estimator(const Estimator&) = delete;
    Estimator& operator=(const Estimator&) = delete;
    ~Estimator();

    /// The first attempt's plan, before any guard.
    [[nodiscard]] ExecutionPlan plan(const ParamSet& params) const;
    [[nodiscard]] Forecast forecast(const ParamSet& params, const ExecutionPlan& plan);
    [[nodiscard]] Fit fit(const ParamSet& params);
    /// The largest micro-batch whose need the device has, where the effective batch is at least as large: nothing when not even one example
    /// fits or nobody can predict it. Looks up to `most_examples`; where need stops growing before, to there.
    [[nodiscard]] std::optional<LargestMicroBatch> largest_micro_batch(const ParamSet& params);
    static constexpr std::int64_t most_examples = 65'536;
    /// Whether a plan has a batch that the trainer could run in smaller micro-batches.
    [[nodiscard]] bool can_split(const ExecutionPlan& plan) const;

    [[nodiscard]] const Options& options() const noexcept { return options_; }
    /// Predictions that were asked of workers; the others were known already.
    [[nodiscard]] std::int64_t predictions_made() const;
    /// Predictions were asked for, and none could be made.
    [[nodiscard]] bool predicted_nothing() const noexcept { return !info_.peak_sources.empty() && pool_ && unknown_ > 0 && known_ == 0; }
    /// Whether the guard learns from attempts.
    [[nodiscard]] bool learns() const { return guard_.carries(); }
    /// Attempts that teach it something about one of the kinds of predictions that it was asked about so far.
    [[nodiscard]] std::size_t learned() const;
    /// What the peaks of Options::trials and Options::same_program on this device follow. Nullopt without such trials.
    [[nodiscard]] std::optional<guard::NamedLaw> law() const;
    /// What forecasts said of themselves so far. Of those that differ in their figures alone it is the first.
    [[nodiscard]] const std::set<std::string>& remarks() const noexcept { return remarks_; }

private:
    /// Why the guard predicts nothing for a trainer that tells no peaks before launch.
    [[nodiscard]] std::string why_unknown() const;
    /// Nothing: nobody can predict it.
    [[nodiscard]] std::optional<bool> fits(const ParamSet& params, const ExecutionPlan& plan);

    const Settings& settings_;
    const TrainerInfo& info_;
    Options options_;
    registry::AnyMemoryGuard guard_;
    std::unique_ptr<worker::Pool> pool_;  ///< null: the guard knows without asking
    std::vector<Attempt> measured_;
    std::int64_t known_ = 0;       ///< forecasts
    std::int64_t unknown_ = 0;     ///< forecasts without an answer
    std::set<std::string> pools_;  ///< kinds of predictions, as ResidualGroup names them
    std::set<std::string> remarks_;
    std::set<std::string> remark_kinds_;  ///< remarks without their figures
};

}  // namespace hpo::tune
