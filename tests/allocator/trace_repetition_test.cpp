// SPDX-License-Identifier: MIT
#include "allocator/trace_repetition.hpp"

#include "hpo/allocator/trace_peak.hpp"
#include "support/catch.hpp"

using hpo::allocator::AllocationTrace;
using hpo::allocator::PhaseRange;
using hpo::allocator::repeated;
using hpo::allocator::steps_of;
using hpo::allocator::with_more_steps;

namespace {

/// A training whose steps take 10 bytes for a batch, which stays until the next is there, and 20 for activations.
class Training {
public:
    Training() {
        trace_.enter("build");
        weights_ = trace_.take({.bytes = 100});
    }
    Training& step(std::int64_t activations = 20) {
        trace_.enter("batch");
        const std::int64_t before = batch_;
        batch_ = trace_.take({.bytes = 10});
        if (before >= 0) trace_.give_back(before);
        trace_.enter("forward");
        const std::int64_t held = trace_.take({.bytes = activations});
        trace_.enter("backward");
        trace_.give_back(held);
        trace_.enter("step");
        if (state_ < 0) state_ = trace_.take({.bytes = 200});
        return *this;
    }
    Training& evaluate() {
        trace_.enter("evaluation");
        trace_.give_back(trace_.take({.bytes = 30}));
        return *this;
    }
    AllocationTrace end() {
        for (const std::int64_t block : {batch_, state_, weights_}) trace_.give_back(block);
        return trace_;
    }

private:
    AllocationTrace trace_;
    std::int64_t weights_ = -1;
    std::int64_t batch_ = -1;
    std::int64_t state_ = -1;
};

/// What is alive at the end; throws where a block is given back that is not there.
std::int64_t alive(const AllocationTrace& trace) {
    std::vector<bool> there(trace.blocks.size(), false);
    std::int64_t count = 0;
    for (const std::int64_t event : trace.events) {
        const auto block = static_cast<std::size_t>(event >= 0 ? event : -1 - event);
        REQUIRE(there.at(block) == (event < 0));
        there[block] = event >= 0;
        count += event >= 0 ? 1 : -1;
    }
    return count;
}

}  // namespace

TEST_CASE("steps and epochs of a training are found by their phases") {
    const auto found = steps_of(Training{}.step().step(15).evaluate().step().step(15).evaluate().end());
    CHECK(found.steps.size() == 4);
    CHECK(found.epochs == std::vector<std::size_t>{0, 2});
    CHECK(steps_of({}).steps.empty());
}

TEST_CASE("a repeated step is as if it had been done so often, with the block that each leaves to the next") {
    const AllocationTrace short_one = Training{}.step().step().evaluate().end();
    const auto longer = repeated(short_one, steps_of(short_one).steps.at(1), 3);
    REQUIRE(longer);
    CHECK(*longer == Training{}.step().step().step().step().step().evaluate().end());
    CHECK(alive(*longer) == 0);
}

TEST_CASE("what leaves more behind than it gives back is not repeated") {
    const AllocationTrace trace = Training{}.step().step().evaluate().end();
    CHECK_FALSE(repeated(trace, steps_of(trace).steps.at(0), 1));                               // makes the state
    CHECK_FALSE(repeated(trace, PhaseRange{trace.phases.size() - 1, trace.phases.size()}, 1));  // gives back what was there
}

TEST_CASE("a short training becomes one of more steps, and of more epochs where it has two") {
    const AllocationTrace one = with_more_steps(Training{}.step().step().step(15).evaluate().end());
    CHECK(one == Training{}.step().step().step().step().step().step(15).evaluate().end());
    const AllocationTrace two = with_more_steps(Training{}.step().step(15).evaluate().step().step(15).evaluate().end());
    Training longer;
    longer.step().step(15).evaluate();
    for (int epoch = 0; epoch < 2; ++epoch) longer.step().step().step().step().step(15).evaluate();
    CHECK(two == longer.end());
    CHECK(hpo::allocator::requested_peak(two).bytes == 340);
    const AllocationTrace single = Training{}.step().evaluate().end();
    CHECK(with_more_steps(single) == single);
}
