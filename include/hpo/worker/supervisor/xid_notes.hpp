// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "hpo/core/failure.hpp"

namespace hpo::worker {

/// Which Xids the driver reported of a pool's device, and how many attempts ran there at the time. The driver does not say which process
/// met an Xid.
class XidNotes {
public:
    /// Gives the Xids since it was asked before. `patiently`: some may be about to come. Empty: nobody tells.
    using Source = std::function<std::vector<int>(bool patiently)>;

    explicit XidNotes(Source source = {}) : source_{std::move(source)} {}

    /// Asks for new Xids, while `attempts` run. To be called before an attempt begins, and when one has ended but still counts.
    void look(std::size_t attempts, bool patiently = false);

    /// A mark for what is told from now on.
    [[nodiscard]] std::size_t now() const { return notes_.size(); }

    /// Adds the Xids since the mark to the message of an attempt's failure. If only this attempt ran when an Xid came, it is the attempt's.
    /// An Xid that means a broken device makes a hardware failure of a CUDA error, a dead process or a timeout. One that ends a process
    /// makes a cuda_sticky of a dead process, if it is the attempt's.
    void explain(Failure& failure, std::size_t mark) const;

private:
    struct Note {
        int xid = 0;
        std::size_t attempts = 0;  ///< that ran at the time
    };

    Source source_;
    std::vector<Note> notes_;
};

}  // namespace hpo::worker
