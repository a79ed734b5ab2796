// SPDX-License-Identifier: MIT
// LibTorch's own caching allocator, over a CUDA runtime that only counts, against its model. No card is needed.
#include <cstdint>

#include "support/catch.hpp"
#include "torch_allocator/native_replay.hpp"

using namespace hpo::tests;
using hpo::allocator::ReplayedTrace;

namespace {

enum Comparison { served, ran_out, unequal, comparisons };

Comparison compare(std::uint64_t number) {
    const RandomReplay replay = random_replay(number);
    prepare_allocator(replay);
    const ReplayedTrace model = simulate(replay.trace, replay.settings, replay.device);
    const ReplayedTrace real = replay_natively(replay.trace);
    const bool same = model.counts == real.counts && model.survived() == real.survived() &&
                      (model.survived() || model.refused->event == real.refused->event);
    return !same ? unequal : model.survived() ? served : ran_out;
}

}  // namespace

TEST_CASE("the model equals LibTorch's own allocator on 10000 random traces with random settings") {
    int counts[comparisons] = {};
    for (std::uint64_t number = 1; number <= 10000; ++number) {
        const int comparison = in_own_process([&] { return compare(number); });
        CAPTURE(number);
        REQUIRE(comparison >= 0);
        ++counts[comparison];
        CHECK(comparison != unequal);
    }
    CHECK(counts[served] > 2000);
    CHECK(counts[ran_out] > 2000);
}
