// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory_need/memory_model.hpp"
#include "analysis/memory_need/memory_order.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis::detail {

/// The trials of a study that ran to their end, to be asked for one that needs at least as much memory as a failed one.
///
/// Parameters of which the name does not say whether more needs more must be equal. Only measured peaks can speak against the name of a
/// plain size. The failures cannot, because a leak fails at any size.
class LargerTrials {
public:
    struct Witness {
        const Trial* trial;
        bool is_equal;
        /// "trial 3 ran to its end with the same parameters"
        [[nodiscard]] std::string text() const;
    };

    /// The trials must outlive this.
    LargerTrials(std::span<const Trial> trials, std::span<const FailureCase> cases);

    /// A trial that shows that the failed one could have run where it did: on as little of the same device, and not so close to its end
    /// that chance decides.
    [[nodiscard]] std::optional<Witness> witness(const FailureCase& entry);
    /// True if one of the trials that need at least as much is one of these. False if the study ran on several devices.
    [[nodiscard]] bool any_of(const FailureCase& entry, const std::function<bool(const Trial&)>& is_one);

private:
    struct Ran {
        const Trial* trial;
        MemoryOrder::Point point;
    };
    struct Comparison {
        bool by_name = false;  ///< of numbers, only those whose name says so and whose peaks do not contradict it
        bool skips_work = false;
    };
    LargerTrials(std::span<const Trial> trials, std::span<const FailureCase> cases, const std::vector<Example>& examples);

    [[nodiscard]] const Trial* find(const FailureCase& entry, const std::function<bool(const Trial&)>& is_one);
    [[nodiscard]] bool at_least(const Ran& ran, const FailureCase& entry, const MemoryOrder::Point& failed) const;

    bool several_devices_;
    MemoryOrder order_;
    std::vector<Comparison> comparisons_;  ///< for each axis of the order
    std::vector<Ran> ran_;
    std::map<std::string, const Trial*> equal_;
};

}  // namespace hpo::analysis::detail
