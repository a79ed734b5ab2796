// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "hpo/core/trial.hpp"

namespace hpo::analysis::detail {

[[nodiscard]] inline const Attempt* last_attempt(const Trial& trial) { return trial.attempts.empty() ? nullptr : &trial.attempts.back(); }

/// Which trials surely shared a process. An attempt knows its process. A study of another program whose trials follow each other at once
/// runs them in one process, because a process that is started anew loads its libraries first.
class SharedProcesses {
public:
    /// The trials must outlive this.
    explicit SharedProcesses(std::span<const Trial> trials);

    /// A name of the process. Nullopt if it is not known. The attempt is null for a trial of another program.
    [[nodiscard]] std::optional<std::string> of(const Trial& trial, const Attempt* attempt) const;
    /// True if no other attempt ran in its process before, so none can have left memory there.
    [[nodiscard]] bool began(const Attempt& attempt) const;

private:
    struct First {
        const Attempt* attempt;
        Time started;
    };

    std::map<std::string, First> first_;          ///< by the process of an attempt
    std::map<const Trial*, std::string> run_of_;  ///< trials of another program that followed each other at once have the same
};

}  // namespace hpo::analysis::detail
