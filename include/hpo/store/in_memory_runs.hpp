// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

/// The runs of a store in memory, numbered from 1.
class InMemoryRuns {
public:
    Run begin(std::int64_t study_id, Run run) {
        run = identified(std::move(run));
        run.id = static_cast<std::int64_t>(runs_.size()) + 1;
        runs_.push_back({{run, now(), false}, study_id});
        return run;
    }
    void heartbeat(const Run& run) {
        if (KnownRun* found = find(run.id)) found->heartbeat = now();
    }
    void end(const Run& run) {
        if (KnownRun* found = find(run.id)) found->ended = true;
    }
    /// The run of this id. Null if there is none, or if its study was deleted.
    [[nodiscard]] KnownRun* find(std::int64_t run_id) {
        if (run_id < 1 || static_cast<std::size_t>(run_id) > runs_.size()) return nullptr;
        Owned& run = runs_[static_cast<std::size_t>(run_id - 1)];
        return run.study_id < 0 ? nullptr : &run.known;
    }
    void delete_study(std::int64_t study_id) {
        for (Owned& run : runs_) {
            if (run.study_id == study_id) run = {};
        }
    }

private:
    struct Owned {
        KnownRun known;
        std::int64_t study_id = -1;  ///< -1 if the study was deleted
    };
    std::vector<Owned> runs_;
};

}  // namespace hpo::store
