// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/memory/concept.hpp"
#include "hpo/memory/learned/peak_model.hpp"
#include "hpo/memory/learned/told_law.hpp"

namespace hpo::memory::inline learned {

/// Estimate::source of what is learned from the study's own peaks, and of an attempt that gets the whole device because nothing is known
/// yet.
inline constexpr std::string_view learned_source = "learned";
inline constexpr std::string_view alone_source = "alone";

/// The peak of an attempt as a function of its parameters, learned from the attempts of the study that were measured on the same device. It
/// is for trainers of which nothing else is known.
///
/// What is modelled is the logarithm of the peak (peak_model.hpp): laws, such as "a constant and so much for each example of each layer",
/// and a Gaussian process over what they leave. A number whose range is above 0 is an input of the process as its logarithm, other numbers
/// are inputs as they are. Numbers that are never below 0 may be factors of laws. Texts and truth values are categories, and so is a
/// parameter that is absent. The plan's micro-batch is an input, if it has one. The parameter that is the effective batch is then none:
/// what runs at a time decides. An attempt that ran out of memory is right-censored. The variance is that of the model times its boldness
/// in cross-validation.
///
/// At most `most_points` attempts count: the latest, and of the earlier ones a regular share. A call costs a pass over the history. It
/// costs a fit only if there are new attempts. Thread safety: none.
class LearnedPeaks {
public:
    static constexpr std::size_t least_points = 4;
    static constexpr std::size_t most_points = 128;

    enum class Knowledge {
        unmeasured,  ///< attempts have ended, and none told its memory: nothing can be learned
        too_little,  ///< fewer measured attempts than least_points
        enough,
    };
    struct Answer {
        Knowledge knowledge = Knowledge::too_little;
        NormalBelief log_bytes{};  ///< of the logarithm of the peak in bytes, if there is enough knowledge
    };
    [[nodiscard]] Answer ask(const MemoryQuery& query);

    /// What the peaks of the history's attempts on this device follow.
    [[nodiscard]] ToldLaw law(const History& history, const std::string& device_name);

private:
    struct Point {
        const ParamSet* params = nullptr;
        std::optional<std::int64_t> micro_batch, effective_batch;
        double log_bytes = 0;
        bool censored = false;
    };

    [[nodiscard]] Knowledge learn(const History& history, const std::string& device_name);
    void collect(const History& history, const std::string& device_name);
    void thin_out();
    void learn_inputs();
    /// True if every attempt's effective batch is the value of this parameter.
    [[nodiscard]] bool is_effective_batch(const std::string& name) const;
    /// Inputs as they are: numbers, categories, NaN for one that is absent.
    [[nodiscard]] std::vector<double> row(const ParamSet& params, const std::optional<std::int64_t>& micro_batch) const;
    void fit(std::size_t all_points);
    [[nodiscard]] ToldLaw::Part told(const LawTerm& term) const;

    std::vector<Point> points_;
    std::size_t ended_ = 0;           ///< attempts on the device that ended, measured or not
    std::size_t measured_ = 0;        ///< points that are not censored
    std::vector<std::string> names_;  ///< of the inputs
    std::vector<PeakModel::Input> inputs_;
    PeakModel model_;
    PeakModel::Validation validation_;  ///< of the model, when its laws were found
    std::string fitted_study_;
    std::string fitted_device_;
    std::size_t fitted_points_ = 0;            ///< all points at the last fit, also those that were thinned out
    std::vector<std::string> searched_names_;  ///< the inputs of that search
    std::vector<LawData::Kind> searched_kinds_;
    std::size_t searched_points_ = 0;  ///< the same at the last search of hyperparameters
};

}  // namespace hpo::memory::learned

#ifndef HPO_COMPILED
#include "hpo/memory/learned/impl/learned_peaks_inl.hpp"
#endif
