// SPDX-License-Identifier: MIT
// The constants and rules of LibTorch's caching allocator, each where it shows, for the versions that have it.
#include <cstdint>
#include <vector>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/core/seed.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;
using hpo::tests::kib;
using hpo::tests::mib;

namespace {

/// Positive: takes a block of so many bytes; negative -n: gives the n-th block back.
AllocationTrace trace_of(const std::vector<std::int64_t>& steps) {
    AllocationTrace trace;
    for (const std::int64_t step : steps) {
        if (step > 0) trace.take({.bytes = step});
        else trace.give_back(-step - 1);
    }
    return trace;
}
AllocatorCounts counts(const std::vector<std::int64_t>& steps, const AllocatorSettings& settings = {}, AllocatorDevice device = {}) {
    return simulate(trace_of(steps), settings, device).counts;
}

}  // namespace

TEST_CASE("sizes are multiples of 512 bytes, at least one") {
    const AllocatorSettings usual;
    CHECK(usual.rounded(1) == 512);
    CHECK(usual.rounded(511) == 512);
    CHECK(usual.rounded(512) == 512);
    CHECK(usual.rounded(513) == 1024);
    CHECK(usual.rounded(100 * mib + 1) == 100 * mib + 512);
}

TEST_CASE("segments are 2 MiB up to 1 MiB, 20 MiB below 10 MiB, and multiples of 2 MiB from there on") {
    const AllocatorSettings usual;
    CHECK(usual.segment(512) == 2 * mib);
    CHECK(usual.segment(mib) == 2 * mib);
    CHECK(usual.segment(mib + 512) == 20 * mib);
    CHECK(usual.segment(10 * mib - 512) == 20 * mib);
    CHECK(usual.segment(10 * mib) == 10 * mib);
    CHECK(usual.segment(10 * mib + 512) == 12 * mib);
    CHECK(usual.segment(100 * mib + 512) == 102 * mib);
    const AllocatorSettings larger{.large_segment_bytes = 40 * mib};
    CHECK(larger.segment(mib + 512) == 40 * mib);
    CHECK(larger.segment(10 * mib) == 10 * mib);
    CHECK(larger.segment(mib) == 2 * mib);
}

TEST_CASE("1200 bytes with 4 divisions between powers of two are 1280") {
    AllocatorSettings four;
    four.power2_divisions.fill(4);
    CHECK(four.rounded(1200 * kib) == 1280 * kib);
    CHECK(four.rounded(1025 * kib) == 1280 * kib);
    CHECK(four.rounded(1024 * kib) == 1024 * kib);
    CHECK(four.rounded(1800 * kib) == 2048 * kib);
    CHECK(four.rounded(2048) == 2048);
    CHECK(four.rounded(2049) == 2560);  // above 512 times the divisions
    CHECK(four.rounded(1025) == 1536);
    four.roundup_bypass_bytes = mib;
    CHECK(four.rounded(1200 * kib) == 1200 * kib);
    CHECK(four.rounded(600 * kib) == 640 * kib);
}

TEST_CASE("each of 16 ranges from 1 MiB to 64 GiB has its own number of divisions, what is smaller belongs to the first") {
    AllocatorSettings settings;
    settings.power2_divisions[0] = 2;
    settings.power2_divisions[1] = 8;
    settings.power2_divisions[15] = 4;
    CHECK(settings.rounded(600 * kib) == 768 * kib);
    CHECK(settings.rounded(1100 * kib) == 1536 * kib);
    CHECK(settings.rounded(2100 * kib) == 2304 * kib);
    CHECK(settings.rounded(4 * mib + 1) == 4 * mib + 512);
    CHECK(settings.rounded(33 * 1024 * mib) == 40 * 1024 * mib);
    CHECK(settings.rounded(130 * 1024 * mib) == 160 * 1024 * mib);
}

TEST_CASE("the small and the large pool share nothing") {
    CHECK(counts({mib, mib + 1}).reserved == 22 * mib);
    CHECK(counts({mib + 1, -1, mib}).reserved == 22 * mib);
    CHECK(counts({mib, mib}).reserved == 2 * mib);
}

TEST_CASE("the small pool splits off 512 bytes, the large one only more than 1 MiB") {
    CHECK(counts({mib - 512, mib - 512, 512, 512}).reserved == 2 * mib);
    CHECK(counts({mib - 512}).allocated == mib - 512);
    CHECK(counts({19 * mib}).allocated == 20 * mib);  // a rest of 1 MiB stays inside
    CHECK(counts({19 * mib}).requested == 19 * mib);
    CHECK(counts({9 * mib, 10 * mib}).reserved == 20 * mib);  // the rest of the first segment, whole
    CHECK(counts({9 * mib, 10 * mib}).allocated == 20 * mib);
    CHECK(counts({9 * mib, 9 * mib}).allocated == 18 * mib);
}

TEST_CASE("the best fit is the smallest that is large enough, and of those the lowest address") {
    // Free pieces of 14 and 4 MiB behind their segments' first blocks; 3 MiB go to the smaller one and 12 still fit.
    const std::vector<std::int64_t> pieces{6 * mib, 8 * mib, 8 * mib, -3, 3 * mib, 12 * mib};
    CHECK(counts(pieces).reserved == 40 * mib);
    CHECK(counts(pieces).allocated == 29 * mib);
}

TEST_CASE("what is given back melts with its free neighbours at once") {
    CHECK(counts({6 * mib, 6 * mib, 6 * mib, -1, -2, -3, 20 * mib}).reserved == 20 * mib);
    CHECK(counts({6 * mib, 6 * mib, 6 * mib, -1, -3, 20 * mib}).reserved == 40 * mib);
}

TEST_CASE("at the limit whole cached segments go back to the device, once, and are counted as a retry") {
    const AllocatorCounts served = counts({30 * mib, -1, 40 * mib}, {}, {.total_bytes = 60 * mib});
    CHECK(served.retries == 1);
    CHECK(served.reserved == 40 * mib);
    CHECK(served.reserved_peak == 40 * mib);
    CHECK(counts({30 * mib, -1, 40 * mib}, {}, {.total_bytes = 70 * mib}).retries == 0);
}

TEST_CASE("a cut segment of which a part lives cannot go back") {
    const AllocationTrace trace = trace_of({30 * mib, -1, 12 * mib, 31 * mib});
    const ReplayedTrace replay = simulate(trace, {}, {.total_bytes = 60 * mib});
    REQUIRE(replay.refused);
    CHECK(replay.refused->event == 3);
    CHECK(replay.refused->block == 2);
    CHECK(replay.refused->requested == 31 * mib);
    CHECK(replay.refused->asked == 32 * mib);
    CHECK(replay.refused->allocated == 12 * mib);
    CHECK(replay.refused->reserved == 30 * mib);
    CHECK(replay.counts.retries == 1);
    CHECK(simulate(trace, {}, {.total_bytes = 62 * mib}).survived());
    CHECK_FALSE(simulate(trace, {}, {.total_bytes = 62 * mib, .outside_bytes = 1}).survived());
}

TEST_CASE("blocks from max_split_size on are not cut, nor given to smaller requests") {
    const AllocatorSettings limit{.max_split_bytes = 40 * mib};
    CHECK(counts({50 * mib, -1, 20 * mib}, limit).reserved == 70 * mib);
    CHECK(counts({50 * mib, -1, 20 * mib}).reserved == 50 * mib);
    CHECK(counts({50 * mib, -1, 41 * mib}, limit).reserved == 50 * mib);
    CHECK(counts({50 * mib, -1, 41 * mib}, limit).allocated == 50 * mib);
    CHECK(counts({60 * mib, -1, 40 * mib}, limit).reserved == 100 * mib);  // 20 MiB too large
    CHECK(counts({58 * mib, -1, 40 * mib}, limit).reserved == 58 * mib);
    CHECK(counts({60 * mib, -1, 40 * mib}, {.max_split_bytes = 40 * mib, .max_non_split_rounding_bytes = 21 * mib}).reserved == 60 * mib);
}

TEST_CASE("with max_split_size, oversize cached blocks go back before everything does") {
    const AllocatorSettings limit{.max_split_bytes = 40 * mib};
    const std::vector<std::int64_t> steps{50 * mib, 12 * mib, -1, -2, 80 * mib};
    const AllocatorCounts gave_one = counts(steps, limit, {.total_bytes = 100 * mib});
    CHECK(gave_one.retries == 1);  // 50 MiB of the 80 that are wanted: not enough, so the rest goes too
    const AllocatorCounts enough = counts({90 * mib, 12 * mib, -1, -2, 60 * mib}, limit, {.total_bytes = 110 * mib});
    CHECK(enough.retries == 0);
    CHECK(counts({40 * mib, 40 * mib, -1, -2, 80 * mib}, limit, {.total_bytes = 100 * mib}).retries == 0);  // just enough
    CHECK(enough.reserved == 72 * mib);
}

TEST_CASE("a memory fraction bounds what is reserved, whatever the device has") {
    AllocatorSettings half;
    half.memory_fraction = 0.5;
    CHECK(simulate(trace_of({50 * mib}), half, {.total_bytes = 100 * mib}).survived());
    CHECK_FALSE(simulate(trace_of({50 * mib + 1}), half, {.total_bytes = 100 * mib}).survived());
    CHECK_FALSE(simulate(trace_of({50 * mib}), half, {.total_bytes = 100 * mib, .outside_bytes = 51 * mib}).survived());
}

TEST_CASE("garbage is collected above its threshold, the old first, and only with a fraction") {
    AllocatorSettings collecting{.garbage_collection_threshold = 0.5};
    // Two cached segments, of 30 and 20 MiB, the first the older; then one that fits neither.
    const std::vector<std::int64_t> steps{30 * mib, 20 * mib, -1, 512, 512 * kib, mib + 1, -4, -2, 40 * mib};
    CHECK(counts(steps, collecting, {.total_bytes = 100 * mib}).reserved_peak ==
          counts(steps, {}, {.total_bytes = 120 * mib}).reserved_peak);
    collecting.memory_fraction = 1;
    const AllocatorCounts collected = counts({30 * mib, 22 * mib, -1, 24 * mib, -3, -2, 40 * mib}, collecting, {.total_bytes = 100 * mib});
    CHECK(collected.retries == 0);
    CHECK(collected.reserved < 30 * mib + 22 * mib + 40 * mib);
}

TEST_CASE("expandable segments grow by pages of 2 MiB and of 20 MiB") {
    const AllocatorSettings expandable{.expandable_segments = true};
    CHECK(counts({512}, expandable).reserved == 2 * mib);
    CHECK(counts({30 * mib}, expandable).reserved == 40 * mib);
    CHECK(counts({30 * mib, 10 * mib}, expandable).reserved == 40 * mib);
    CHECK(counts({30 * mib, 10 * mib, 512 * kib, 3 * mib}, expandable).reserved == 62 * mib);
    CHECK(counts({19 * mib + 600 * kib}, expandable).allocated == 19 * mib + 600 * kib);  // 512 bytes are enough to be split off
    CHECK(counts({30 * mib, -1, 50 * mib}, expandable).reserved == 60 * mib);             // the free end grows
    const AllocatorSettings larger{.large_segment_bytes = 50 * mib, .expandable_segments = true};
    CHECK(counts({30 * mib}, larger).reserved == 50 * mib);
}

TEST_CASE("at the limit expandable segments give back every page that holds nothing") {
    const AllocatorSettings expandable{.expandable_segments = true};
    // 100 MiB in front of a live block: its pages go, and come again behind the block.
    const AllocatorCounts served =
        counts({100 * mib, 10 * mib, -1, 130 * mib}, expandable, {.total_bytes = 1000 * mib, .outside_bytes = 820 * mib});
    CHECK(served.retries == 1);
    CHECK(served.reserved == 140 * mib);
    // A reservation is an eighth larger than the device; where it ends, another begins.
    CHECK(counts({100 * mib, 10 * mib, -1, 130 * mib}, expandable, {.total_bytes = 180 * mib}).reserved == 160 * mib);
}

TEST_CASE("a replay tells the moments of its peaks, and how much of what was reserved at the allocated peak nobody used") {
    const ReplayedTrace grown = simulate(trace_of({12 * mib, 14 * mib, -1, -2, 16 * mib, 12 * mib}), {});
    CHECK(grown.counts.allocated_peak == 28 * mib);
    CHECK(grown.allocated_peak_event == 5);
    CHECK(grown.counts.reserved_peak == 42 * mib);
    CHECK(grown.reserved_peak_event == 4);
    CHECK(grown.reserved_at_allocated_peak == 42 * mib);
    CHECK(grown.fragmentation() == Approx(1 - 28.0 / 42));
    const ReplayedTrace later = simulate(trace_of({12 * mib, 14 * mib, -1, -2, 16 * mib}), {});
    CHECK(later.allocated_peak_event == 1);
    CHECK(later.reserved_at_allocated_peak == 26 * mib);
    CHECK(later.fragmentation() == 0);
    CHECK(simulate({}, {}).fragmentation() == 0);
}

TEST_CASE("the range of capacities that a replay names replays alike to its ends and otherwise beyond") {
    hpo::Rng rng{7};
    int bounded = 0;
    int ranges_of_expandable = 0;
    for (int round = 0; round < 3000; ++round) {
        AllocationTrace trace = hpo::tests::random_trace(rng, 40);
        const AllocatorSettings settings{.expandable_segments = round % 3 == 0};
        if (round % 2 == 0) trace.emptied = {static_cast<std::size_t>(hpo::tests::draw(rng, 1, 39))};
        const std::int64_t peak = simulate(trace, settings).counts.reserved_peak;
        const std::int64_t outside = round % 5 == 0 ? 300 * mib : 0;
        const std::int64_t capacity = outside + peak / 2 + hpo::tests::draw(rng, 0, peak);
        const auto with = [&](std::int64_t total) { return simulate(trace, settings, {.total_bytes = total, .outside_bytes = outside}); };
        const ReplayedTrace replay = with(capacity);
        REQUIRE(replay.same_from_bytes <= capacity);
        REQUIRE(capacity <= replay.same_to_bytes);
        CHECK(with(replay.same_from_bytes) == replay);
        CHECK(with(replay.same_to_bytes) == replay);
        if (settings.expandable_segments) {  // a range may be smaller than it could be
            ranges_of_expandable += replay.same_from_bytes < replay.same_to_bytes ? 1 : 0;
            continue;
        }
        if (replay.same_from_bytes > outside) CHECK_FALSE(with(replay.same_from_bytes - 1) == replay);
        if (replay.same_to_bytes == unlimited_bytes) continue;
        ++bounded;
        CHECK_FALSE(with(replay.same_to_bytes + 1) == replay);
    }
    CHECK(bounded > 500);
    CHECK(ranges_of_expandable > 300);
}

TEST_CASE("the need survives with up to 64 MiB more and not with less, comfort never retries") {
    hpo::Rng rng{11};
    for (int round = 0; round < 300; ++round) {
        const AllocationTrace trace = hpo::tests::random_trace(rng, 60);
        const AllocatorSettings settings = round % 3 == 0 ? hpo::tests::random_settings(rng) : AllocatorSettings{};
        const std::int64_t outside = rng.below(2) == 0 ? 0 : hpo::tests::draw(rng, 0, 700 * mib);
        const bool exact = !settings.memory_fraction && !settings.expandable_segments;
        const auto with = [&](std::int64_t capacity) {
            return simulate(trace, settings, {.total_bytes = capacity, .outside_bytes = outside});
        };
        const CapacityNeed found = capacity_need(trace, settings, outside);
        CAPTURE(round, found.need, found.comfort, exact);
        REQUIRE(found.need <= found.comfort);
        CHECK(found.need >= found.unlimited.counts.allocated_peak + outside - (exact ? 0 : 2 * mib));
        for (std::int64_t more = 0; more < 64 * mib; more += 2 * mib) {
            REQUIRE(with(found.need + more).survived());
            REQUIRE(with(found.comfort + more).counts.retries == 0);
        }
        CHECK(with(found.comfort).survived());
        const std::int64_t less = exact ? 1 : 2 * mib;
        if (found.need - less >= found.unlimited.counts.allocated_peak + outside) CHECK_FALSE(with(found.need - less).survived());
        if (found.comfort - less >= found.unlimited.counts.allocated_peak + outside) {
            const ReplayedTrace below = with(found.comfort - less);
            CHECK((!below.survived() || below.counts.retries > 0));
        }
    }
}

TEST_CASE("a need that more room would break is none") {
    // With 62 MiB the first segment, of 24, must go back before the 40 come. With 64 it stays, is cut for the 6, and cannot go back when
    // the small pool wants its 2.
    const AllocationTrace trace = trace_of({23 * mib, -1, 40 * mib, 6 * mib, mib});
    CHECK(simulate(trace, {}, {.total_bytes = 62 * mib}).survived());
    CHECK_FALSE(simulate(trace, {}, {.total_bytes = 64 * mib}).survived());
    CHECK(capacity_need(trace, {}).need == 66 * mib);
    CHECK(capacity_need(trace, {}).comfort == 66 * mib);
}

TEST_CASE("the search for a capacity ends where an expandable segment fills up") {
    AllocationTrace trace =
        trace_of({2893, -1,       33702632, 33702632, -3,       33702632, -4,   2893,     2893,     33702632, 2893, -5,
                  -6,   33702632, -8,       -9,       33702632, 33702632, 2893, -7,       -10,      33702632, 2893, -13,
                  2893, 2893,     33702632, -14,      -12,      -16,      2893, 33702632, 2893,     2893,     -15,  -11,
                  -2,   -17,      33702632, 33702632, -20,      2893,     -19,  -21,      33702632, 33702632, -22,  33702632,
                  -23,  33702632, -28,      -27,      -25,      2893,     2893, -29,      33702632, -18,      -26,  -31});
    trace.emptied = {41};
    const AllocatorSettings settings{.expandable_segments = true};
    const CapacityNeed found = capacity_need(trace, settings);
    CHECK(simulate(trace, settings, {.total_bytes = found.need}).survived());
    CHECK(simulate(trace, settings, {.total_bytes = found.comfort}).counts.retries == 0);
}

TEST_CASE("without a device's limits the need of nothing is what stands outside") {
    const CapacityNeed nothing = capacity_need({}, {}, 600 * mib);
    CHECK(nothing.need == 600 * mib);
    CHECK(nothing.comfort == 600 * mib);
}

TEST_CASE("the order of segments' addresses changes what is reserved little") {
    hpo::Rng rng{3};
    int differs = 0;
    for (int round = 0; round < 500; ++round) {
        const AllocationTrace trace = hpo::tests::random_trace(rng, 200);
        const auto ascending = simulate(trace, {}).counts;
        const auto shuffled = simulate(trace, {}, {.address_order = rng()}).counts;
        CHECK(shuffled.requested_peak == ascending.requested_peak);
        REQUIRE(static_cast<double>(shuffled.reserved_peak) <= 1.35 * static_cast<double>(ascending.reserved_peak) + 20.0 * mib);
        REQUIRE(static_cast<double>(ascending.reserved_peak) <= 1.35 * static_cast<double>(shuffled.reserved_peak) + 20.0 * mib);
        differs += shuffled.reserved_peak == ascending.reserved_peak ? 0 : 1;
    }
    CHECK(differs > 0);
    CHECK(differs < 250);
}
