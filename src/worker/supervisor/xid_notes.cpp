// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/xid_notes.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "hpo/failure/codes/xid_message.hpp"

namespace hpo::worker {

void XidNotes::look(std::size_t attempts, bool patiently) {
    if (!source_) return;
    for (const int xid : source_(patiently && attempts > 0)) notes_.push_back({.xid = xid, .attempts = attempts});
}

void XidNotes::explain(Failure& failure, std::size_t mark) const {
    constexpr std::size_t most = 4;  // that a message has; a device may report hundreds
    std::size_t told = 0;
    std::vector<int> seen;
    for (std::size_t i = mark; i < notes_.size(); ++i) {
        const auto& [xid, attempts] = notes_[i];
        if (attempts == 0 || std::ranges::find(seen, xid) != seen.end()) continue;
        seen.push_back(xid);
        const bool own = attempts == 1;
        if (told++ < most) {
            failure.message += "; the driver reported " + describe_xid(xid) +
                               (own ? " during this attempt" : " while " + std::to_string(attempts) + " attempts ran on the device");
        }
        const XidCode* const known = xid_code(xid);
        if (!known || known->action == XidAction::nothing) continue;
        const bool dead = failure.kind == FailureKind::crash || failure.kind == FailureKind::lost_worker;
        const bool of_device = dead || failure.kind == FailureKind::cuda_sticky || failure.kind == FailureKind::cuda_transient ||
                               failure.kind == FailureKind::timeout;
        const FailureKind kind = failure_kind_of(known->meaning.what);
        if ((kind == FailureKind::hardware && of_device) || (kind == FailureKind::cuda_sticky && dead && own)) failure.kind = kind;
    }
}

}  // namespace hpo::worker
