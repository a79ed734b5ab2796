// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hpo/process/temporary_folder.hpp"
#include "hpo/tuner/options.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// What the memory of a study did on a card that computes nothing.
struct Rehearsal {
    std::vector<const Trial*> at_once;    ///< fitted with the plan that they began with
    std::vector<const Trial*> shrunk;     ///< fitted in smaller micro-batches
    std::vector<const Trial*> again;      ///< fitted when they ran again, with more of the card or alone
    std::vector<const Trial*> refused;    ///< did not fit at all: the guard or the device refused them
    std::vector<const Trial*> otherwise;  ///< ended by something else, often by a value that was made up
    std::size_t out_of_memory = 0;        ///< attempts
    std::size_t most_at_once = 0;         ///< attempts that ran at the same time
    double empty_share = 0;               ///< of the time, no attempt ran
};

/// Trials that are still running or were interrupted are left out.
[[nodiscard]] Rehearsal rehearsal_of(const TuneResult& result);

void print_rehearsal(const TuneResult& result, bool as_json);

/// Throws Error. `place` is for the message.
[[noreturn]] void refuse_training_on_virtual_card(const std::string& place);

/// Throws Error if a study is to be run on a virtual card, or rehearsed on a real one.
void require_real_card_or_rehearsal(bool rehearse);

/// A store that is gone with the rehearsal. One that was named is made, and kept.
class RehearsalStore {
public:
    /// Sets the arguments' store. Throws Error for one that is there: made-up values do not belong to real ones.
    explicit RehearsalStore(StudyArguments& arguments);

private:
    TemporaryFolder folder_{"hpo-tune"};
};

}  // namespace hpo::tune
