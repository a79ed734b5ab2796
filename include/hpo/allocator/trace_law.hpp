// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/reduction_staging.hpp"
#include "hpo/allocator/size_law.hpp"

namespace hpo::allocator {

/// Predicts the trace of a program from recordings of the same program with other numbers: a batch size, a length, a width, or any others.
/// It need not know what they mean. One recording gives the events. Each of its blocks is found again in the
/// other recordings (trace_alignment.hpp), and its sizes there tell its law (size_law.hpp). What reductions stage follows the rules of
/// their kernels (reduction_staging.hpp).
///
/// Each recording after the second is first predicted from those before it. Those errors tell how far a prediction may be trusted.
///
/// Thread safety: none, because alignments are kept.
class TraceLaw {
public:
    /// The recordings have so many numbers, and are of one card. Throws Error for too many (SizeTerms).
    TraceLaw(std::size_t numbers, CardThreads card) : terms_{numbers}, card_{card} {}

    /// The numbers are above 0. `error`: what this recording added to `errors` before, which saves predicting it again.
    void add(std::vector<double> numbers, AllocationTrace trace, std::optional<double> error = std::nullopt);
    [[nodiscard]] std::size_t recordings() const noexcept { return recordings_.size(); }
    /// True if a recording has just these numbers.
    [[nodiscard]] bool is_recorded(const std::vector<double>& numbers) const {
        return std::ranges::find(recordings_, numbers, &Recorded::numbers) != recordings_.end();
    }
    /// True if each number is one of a recording, or differs between recordings, so that its effect is seen, and is within a factor of four
    /// of one of them. Kernels may change further away.
    [[nodiscard]] bool covers(const std::vector<double>& numbers) const;
    /// The trace with these numbers. Nullopt if there are fewer than two recordings, and none of just these numbers.
    struct Predicted {
        AllocationTrace trace;
        AllocationTrace least;  ///< with the smallest sizes that the recordings allow (SizeGuess::least)
        AllocationTrace most;   ///< with the largest
    };
    [[nodiscard]] std::optional<Predicted> at(const std::vector<double>& numbers) const;
    /// The share by which the requested peak of a trace differs from what is predicted for its numbers. Nullopt if nothing is.
    [[nodiscard]] std::optional<double> error_of(const std::vector<double>& numbers, const AllocationTrace& trace) const;
    /// The share by which the requested peak of each recording after the second differs from what was predicted for it before. In the order
    /// of the recordings.
    [[nodiscard]] const std::vector<double>& errors() const noexcept { return errors_; }

    struct Recorded {
        std::vector<double> numbers;
        SizeValues values;  ///< SizeTerms::at(numbers)
        AllocationTrace trace;
    };
    [[nodiscard]] const std::vector<Recorded>& recorded() const noexcept { return recordings_; }
    /// The number that decides how many blocks there are, such as how many layers: a straight line through it gives them all. Nullopt if no
    /// number does, or if it is not clear yet which one. A law cannot tell how blocks grow with it.
    [[nodiscard]] std::optional<std::size_t> number_of_blocks_by() const;

private:
    using Partners = std::vector<std::optional<std::size_t>>;
    class Prediction;

    /// A recording with the most blocks, the nearest of them: a kernel that stages nothing can be told by the sizes, and one that is not
    /// there cannot.
    [[nodiscard]] std::size_t base_for(const std::vector<double>& numbers) const;
    /// The first round goes by the ratios of sizes. Each further one goes by the sizes that the others' partners of the round before tell
    /// for the recording `other`. With few recordings there is the first one alone.
    [[nodiscard]] const Partners& partners(std::size_t one, std::size_t other, int round) const;

    static constexpr int last_round = 2;
    SizeTerms terms_;
    CardThreads card_;
    std::vector<Recorded> recordings_;
    std::vector<double> errors_;
    mutable std::array<std::map<std::pair<std::size_t, std::size_t>, Partners>, last_round + 1> partners_;  ///< by round
};

}  // namespace hpo::allocator
