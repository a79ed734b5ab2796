// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/guard/concept.hpp"
#include "hpo/guard/learned/larger_runs.hpp"
#include "hpo/guard/learned/named_law.hpp"
#include "hpo/guard/learned/peak_model.hpp"
#include "hpo/guard/learned/peak_points.hpp"

namespace hpo::guard {

/// Estimate::source of what is learned from peaks of the program, and of an attempt that gets the whole device because nothing is known
/// yet.
inline constexpr std::string_view learned_source = "learned";
inline constexpr std::string_view alone_source = "alone";
/// False if the guard gave no need, or the whole device because it knows too little.
[[nodiscard]] inline bool is_prediction(const Estimate& estimate) { return estimate.need && estimate.source != alone_source; }

/// The peak of an attempt as a function of its parameters, learned from the attempts of the study that were measured on the same device. It
/// is for trainers of which nothing else is known.
///
/// What is modelled is the logarithm of the peak (peak_model.hpp): laws, such as "a constant and so much for each example of each layer",
/// and a Gaussian process over what they leave. A number whose range is above 0 is an input of the process as its logarithm, other numbers
/// are inputs as they are. Numbers that are never below 0 may be factors of laws. Texts and truth values are categories, and so is a
/// parameter that is absent. The plan's micro-batch is an input, if it has one. The parameter that is the effective batch is then none:
/// what runs at a time decides. An attempt that ran out of memory is right-censored. The variance is that of the model times its
/// variance_scale near such peaks in cross-validation.
///
/// Borrowed attempts: while the study has fewer than `most_borrowed` attempts of its own, those of other studies of the same program count
/// for less (History::same_program). The program may have changed since, so all of them may be off by one factor. Those with a parameter
/// that this study does not have are left out. If the study's own peaks are off what the borrowed ones foretell by more than
/// `most_disagreement` in the median, none of them counts.
///
/// Larger attempts: what is believed of an attempt is never more than what is believed of one that was measured and was at least as large
/// in every parameter (larger_runs.hpp).
///
/// At most `most_points` attempts count: the latest, and of the earlier ones a regular share. A call costs a pass over the history. It
/// costs a fit only if there are new attempts. Laws are searched for anew only when a fifth more attempts have ended, so an object that
/// joins a study later may know other laws than one that has followed it. Thread safety: none.
class LearnedPeaks {
public:
    static constexpr std::size_t least_points = 4;
    static constexpr std::size_t least_borrowed = 8;  ///< measured, if the study has fewer than least_points
    static constexpr std::size_t most_borrowed = 64;
    static constexpr std::size_t most_points = 128;
    static constexpr double most_disagreement = 0.25;

    enum class Knowledge {
        unmeasured,  ///< attempts have ended, and none told its memory: nothing can be learned
        too_little,  ///< fewer measured attempts than least_points, and fewer borrowed ones than least_borrowed
        enough,
    };
    struct Answer {
        Knowledge knowledge = Knowledge::too_little;
        NormalBelief log_bytes{};  ///< of the logarithm of the peak in bytes, if there is enough knowledge
        bool is_untried = false;   ///< no attempt of the study itself has told anything yet
        /// The same of attempts of the study that were measured and were at least as large: of the few that took least.
        std::vector<NormalBelief> larger{};
    };
    [[nodiscard]] Answer ask(const MemoryQuery& query);

    /// True if a measured attempt of the study was within the capacity, and at least as large in all that counts: categories, whole
    /// numbers, and those that laws depend on. Other numbers must not be beyond all that were measured.
    [[nodiscard]] bool fitted_larger(const MemoryQuery& query);

    /// True if the query is of a category of which all attempts ran out of memory, and it is clearly smaller than each of them
    /// (LargerRuns::is_far_below_failed). Nothing is known of it then: the law of the other categories need not hold.
    [[nodiscard]] bool is_far_below_failed(const MemoryQuery& query);

    /// What the peaks of the history's attempts on this device follow.
    [[nodiscard]] NamedLaw law(const History& history, const std::string& device_name);

private:
    /// What a fit is of. The other studies do not change while one runs, so the parameters that this study has tell which points count.
    struct FitOf {
        std::string study, device;
        std::size_t points = 0;    ///< of the study, also those that were thinned out
        std::size_t borrowed = 0;  ///< points of other studies
        PeakPoints::Names names{};
        friend bool operator==(const FitOf&, const FitOf&) = default;
    };
    /// Points of other studies.
    struct Borrowed {
        PeakPoints points{};
        PeakPoints::Names names{};  ///< that they may have
    };

    [[nodiscard]] Knowledge learn(const History& history, const std::string& device_name, const ParamSet* asked);
    /// Those that count beside the study's own. Without `asked` and without own points, parameters are not looked at.
    [[nodiscard]] Borrowed borrow(const History& history, const std::string& device_name, const ParamSet* asked, const PeakPoints& own);
    /// True if they foretell the study's own.
    [[nodiscard]] bool foretells(const Borrowed& others, const FitOf& lent, const PeakPoints& own);
    void fit(const FitOf& fitted);
    /// `own`: all points of the study, also those that were thinned out.
    void compare(const PeakPoints& own);
    [[nodiscard]] NormalBelief belief_of(const std::vector<double>& row) const;
    [[nodiscard]] LargerRuns::Run run_of(const MemoryQuery& query) const;
    [[nodiscard]] NamedLaw::Part told(const LawTerm& term) const;

    PeakPoints points_;
    PeakModel model_;
    PeakModel::Validation validation_;  ///< of the model, when its laws were found
    LargerRuns larger_;                 ///< all inputs count
    LargerRuns larger_in_sizes_;        ///< not all numbers count (fitted_larger)
    FitOf fitted_;
    FitOf searched_;                                  ///< the last fit that looked for laws and hyperparameters
    std::vector<PeakPoints::Input> searched_inputs_;  ///< of that search
    FitOf lent_;                                      ///< what lender_ was fitted to
    PeakModel lender_;                                ///< of borrowed points alone
};

}  // namespace hpo::guard
