// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/guard/concept.hpp"

namespace hpo::guard {

/// Gives every attempt the same amount of its device. The worker caps itself at `bytes`, and this many bytes count as taken while it runs.
/// This guard makes no prediction. An attempt that wants more fails with out of memory at the cap.
class Limit {
public:
    static constexpr std::string_view name = "limit";
    static constexpr std::string_view summary = "caps every attempt at a fixed number of bytes and reserves as many";
    struct Config {
        Bytes bytes;  ///< the default 0 is refused by the constructor, because no cap suits every device
    };
    static constexpr void fields(auto field) { field("bytes", &Config::bytes, "cap of one attempt; must be given"); }

    explicit Limit(Config config) : config_{config} {
        if (config.bytes.count < ExecutionPlan::least_memory_bytes) {
            throw bad_value("bytes", format_bytes(config.bytes.count),
                            "a size of at least " + format_bytes(ExecutionPlan::least_memory_bytes) + ", such as limit:bytes=2GiB");
        }
    }

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        Estimate estimate;
        // At most the device's capacity, because a generous cap is no reason to refuse an attempt.
        estimate.need = query.capacity_bytes ? std::min(config_.bytes.count, *query.capacity_bytes) : config_.bytes.count;
        estimate.cap_bytes = config_.bytes.count;
        estimate.source = name;
        return estimate;
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }

private:
    Config config_;
};

static_assert(MemoryGuard<Limit> && Configurable<Limit>);

}  // namespace hpo::guard
