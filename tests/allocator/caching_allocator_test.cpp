// SPDX-License-Identifier: MIT
#include "hpo/allocator/caching_allocator.hpp"
#include "hpo/core/seed.hpp"

#include "allocator/plain_replay.hpp"
#include "allocator/random_trace.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/replay.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

TEST_CASE("The model of the caching allocator equals a plain one on 100000 random traces with random settings") {
    hpo::Rng rng{20240611};
    std::int64_t refused = 0;
    std::int64_t retries = 0;
    for (int round = 0; round < 100000; ++round) {
        const AllocationTrace trace = hpo::tests::random_trace(rng, hpo::tests::draw(rng, 2, 60));
        const AllocatorSettings settings = hpo::tests::random_settings(rng);
        const std::int64_t wanted = simulate(trace, settings).counts.reserved_peak;
        AllocatorDevice device;
        if (rng.below(4) != 0) device.total_bytes = wanted / 2 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(wanted)));
        if (rng.below(3) == 0) device.outside_bytes = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(wanted / 4)));
        if (rng.below(3) == 0) device.address_order = rng();
        ReplayedTrace model = simulate(trace, settings, device);
        const ReplayedTrace plain = hpo::tests::replay_plainly(trace, settings, device);
        model.same_from_bytes = plain.same_from_bytes;
        model.same_to_bytes = plain.same_to_bytes;
        if (!(model == plain)) {
            CAPTURE(round, settings.expandable_segments, settings.max_split_bytes, device.total_bytes, device.address_order);
            CHECK(model.counts.allocated_peak == plain.counts.allocated_peak);
            CHECK(model.counts.reserved_peak == plain.counts.reserved_peak);
            CHECK(model.counts.retries == plain.counts.retries);
            CHECK(model.survived() == plain.survived());
            FAIL("the model and the plain allocator differ");
        }
        refused += model.survived() ? 0 : 1;
        retries += model.counts.retries;
    }
    CHECK(refused > 10000);
    CHECK(refused < 90000);
    CHECK(retries > 50000);
}
