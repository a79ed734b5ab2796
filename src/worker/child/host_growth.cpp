// SPDX-License-Identifier: MIT
#include "hpo/worker/child/host_growth.hpp"

#include <malloc.h>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "hpo/core/memory_leak.hpp"

namespace hpo::worker {

std::optional<std::int64_t> own_host_bytes() {
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
        std::int64_t kibibytes = 0;
        if (word == "RssAnon:" && status >> kibibytes) return kibibytes * 1024;
    }
    return std::nullopt;
}

std::optional<std::int64_t> HostGrowth::see(std::int64_t held_bytes) {
    if (!last_) first_ = highest_ = held_bytes;
    const bool grew = last_ && held_bytes - *last_ >= least_of_an_attempt;
    if (!grew) before_ = held_bytes;
    in_a_row_ = grew ? in_a_row_ + 1 : 0;
    last_ = held_bytes;
    if (is_new_height(held_bytes)) {
        highest_ = held_bytes;
        ++heights_;
    }
    if (in_a_row_ >= attempts_in_a_row && held_bytes - before_ >= least_in_all) return held_bytes - before_;
    if (heights_ >= most_heights && held_bytes - first_ >= most_in_all) return held_bytes - first_;
    return std::nullopt;
}

std::optional<MemoryMark> HostGrowth::see_this_process(double seconds) {
    auto held = own_host_bytes();
    if (held && last_ && (*held - *last_ >= least_of_an_attempt || is_new_height(*held))) {
        ::malloc_trim(0);
        held = own_host_bytes();
    }
    const auto growth = held ? see(*held) : std::nullopt;
    if (!growth) return std::nullopt;
    MemoryMark mark{std::string{host_growth_mark}, seconds, std::nullopt, {}};
    mark.reading.allocated = growth;
    return mark;
}

}  // namespace hpo::worker
