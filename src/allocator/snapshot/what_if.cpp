// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/what_if.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

std::vector<std::string> usual_what_ifs(const WhatIfQuestion& question) {
    std::vector<std::string> texts{""};
    for (const char* const each :
         {"expandable_segments:True", "max_split_size_mb:64", "max_split_size_mb:128", "max_split_size_mb:256", "max_split_size_mb:512",
          "roundup_power2_divisions:4", "roundup_power2_divisions:8", "expandable_segments:True,roundup_power2_divisions:8",
          "garbage_collection_threshold:0.8,per_process_memory_fraction:1.0"}) {
        if (!question.device_bytes && std::string_view{each}.starts_with("garbage")) continue;
        try {
            static_cast<void>(read_allocator_conf(each, question.version));
            texts.emplace_back(each);
        } catch (const Error&) {  // this version does not know it
        }
    }
    return texts;
}

AllocatorSettings settings_that_matter(const AllocationTrace& trace, AllocatorSettings settings) {
    std::int64_t largest = settings.large_segment_bytes;
    for (const TracedBlock& each : trace.blocks) largest = std::max(largest, settings.segment(settings.rounded(each.bytes)));
    if (settings.max_split_bytes > largest && !settings.expandable_segments) {
        settings.max_split_bytes = AllocatorSettings{}.max_split_bytes;
        settings.max_non_split_rounding_bytes = AllocatorSettings{}.max_non_split_rounding_bytes;
    }
    return settings;
}

WhatIf what_if(const AllocationTrace& trace, const std::string& conf, const WhatIfQuestion& question) {
    const AllocatorSettings settings = settings_that_matter(trace, read_allocator_conf(conf, question.version));
    const CapacityNeed found = capacity_need(trace, settings);
    WhatIf row{.conf = conf,
               .reserved_peak = found.unlimited.counts.reserved_peak,
               .least_capacity = found.need,
               .capacity_without_retry = found.comfort,
               .fits = {},
               .retries = {}};
    if (question.device_bytes) {
        const ReplayedTrace there = simulate(trace, settings, {.total_bytes = *question.device_bytes});
        row.fits = there.survived();
        row.retries = there.counts.retries;
    }
    return row;
}

std::vector<WhatIf> what_ifs(const AllocationTrace& trace, const std::vector<std::string>& confs, const WhatIfQuestion& question,
                             const std::function<void(std::size_t)>& done) {
    std::vector<std::pair<AllocatorSettings, std::shared_future<WhatIf>>> replays;
    std::vector<std::size_t> replay_of;
    for (const std::string& conf : confs) {
        const AllocatorSettings settings = settings_that_matter(trace, read_allocator_conf(conf, question.version));
        const auto known = std::ranges::find(replays, settings, [](const auto& each) { return each.first; });
        replay_of.push_back(static_cast<std::size_t>(known - replays.begin()));
        if (known != replays.end()) continue;
        replays.emplace_back(settings,
                             std::async(std::launch::async, [&trace, &question, conf] { return what_if(trace, conf, question); }).share());
    }
    std::vector<WhatIf> rows;
    for (std::size_t i = 0; i < confs.size(); ++i) {
        if (done) done(i);
        rows.push_back(replays[replay_of[i]].second.get());
        rows.back().conf = confs[i];
    }
    return rows;
}

std::optional<std::size_t> worth_setting(const std::vector<WhatIf>& rows) {
    const WhatIf& recorded = rows.front();
    const auto advisable = [](const WhatIf& row) { return row.conf.find("per_process_memory_fraction") == std::string::npos; };
    std::optional<std::size_t> best;
    if (recorded.fits && (!*recorded.fits || *recorded.retries > 0)) {
        for (std::size_t i = 1; i < rows.size(); ++i) {
            const WhatIf& row = rows[i];
            if (!*row.fits || !advisable(row)) continue;
            const bool calmer = !best || *row.retries < *rows[*best].retries;
            const bool smaller =
                best && *row.retries == *rows[*best].retries && 100 * row.capacity_without_retry < 99 * rows[*best].capacity_without_retry;
            if (calmer || smaller) best = i;
        }
        // What fits already is left as it is, unless fewer retries are to be had.
        if (best && *recorded.fits && *rows[*best].retries >= *recorded.retries) best.reset();
        return best;
    }
    constexpr std::int64_t least_gain = std::int64_t{256} << 20;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::int64_t gain = recorded.capacity_without_retry - rows[i].capacity_without_retry;
        if (!advisable(rows[i])) continue;
        if (gain < least_gain || 50 * gain < recorded.capacity_without_retry) continue;
        if (!best || 100 * rows[i].capacity_without_retry < 99 * rows[*best].capacity_without_retry) best = i;
    }
    return best;
}

}  // namespace hpo::allocator
