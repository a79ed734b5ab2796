// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_law.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/trace_alignment.hpp"
#include "hpo/allocator/size_law.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;
using Numbers = std::vector<double>;

namespace {

constexpr CardThreads a100{108, 2048};

/// A training of layers, as large as its numbers say: examples, their length, and the model's width. Few tokens are sorted by another
/// kernel, which takes no blocks.
AllocationTrace training(std::int64_t batch, std::int64_t length, std::int64_t width) {
    AllocationTrace trace;
    const auto scope = [&](const std::string& name) {
        for (std::size_t i = 0; i < trace.scopes.size(); ++i) {
            if (trace.scopes[i] == name) return static_cast<std::uint32_t>(i);
        }
        trace.scopes.push_back(name);
        return static_cast<std::uint32_t>(trace.scopes.size() - 1);
    };
    const auto take = [&](std::int64_t bytes, const std::string& name) { return trace.take({.bytes = bytes, .scope = scope(name)}); };
    const std::int64_t tokens = batch * length;
    std::vector<std::int64_t> weights;
    for (int layer = 0; layer < 4; ++layer) weights.push_back(take(4 * width * 4 * width + 4 * width, "model"));
    for (int step = 0; step < 2; ++step) {
        std::vector<std::int64_t> kept;
        for (int layer = 0; layer < 4; ++layer) {
            kept.push_back(take(4 * tokens * width, "layer"));
            kept.push_back(take(4 * batch * length * length + 4 * tokens, "attention"));
            const std::int64_t scratch = take(16 * tokens * width, "layer");
            trace.give_back(scratch);
        }
        if (tokens > 3000) {
            const std::int64_t sorted = take(8 * tokens, "");
            const std::int64_t scratch = take(1279 + tokens / 7, "");
            trace.give_back(scratch);
            trace.give_back(sorted);
        }
        for (int layer = 3; layer >= 0; --layer) {
            const std::int64_t gradient = take(4 * tokens * width, "");
            const std::int64_t bias = take(4 * width, "");
            if (const Staging staged = staging_of(Reduction::of_columns(tokens, width), a100); staged.buffer > 0) {
                const std::int64_t buffer = take(staged.buffer, "");
                const std::int64_t counters = take(staged.counters, "");
                trace.give_back(counters);
                trace.give_back(buffer);
            }
            trace.give_back(gradient);
            trace.give_back(bias);
        }
        for (const std::int64_t each : kept) trace.give_back(each);
    }
    return trace;
}

double off(const TraceLaw& law, std::int64_t batch, std::int64_t length, std::int64_t width) {
    const Numbers numbers{static_cast<double>(batch), static_cast<double>(length), static_cast<double>(width)};
    const auto predicted = static_cast<double>(requested_peak(law.at(numbers)->trace).bytes);
    return predicted / static_cast<double>(requested_peak(training(batch, length, width)).bytes) - 1;
}

SizeGuess guess(const SizeTerms& terms, const std::vector<std::pair<Numbers, double>>& points, const Numbers& wanted) {
    std::vector<SizeValues> values;
    for (const auto& [numbers, bytes] : points) values.push_back(terms.at(numbers));
    std::vector<SizePoint> sizes;
    for (std::size_t i = 0; i < points.size(); ++i) sizes.push_back({points[i].second, &values[i]});
    return size_at(terms.at(wanted), sizes);
}

}  // namespace

TEST_CASE("a size is one product of the numbers, or the sum of two, and else the nearest product") {
    const SizeTerms terms{2};
    CHECK(terms.count() == 9);
    const SizeGuess one = guess(terms, {{{2, 3}, 24}, {{5, 3}, 60}, {{5, 7}, 140}}, {10, 11});
    CHECK(one.bytes == Approx(440));
    CHECK(one.most == one.bytes);
    // 8 b + 2 b s^2 has no law of one product.
    const SizeGuess two = guess(terms, {{{2, 3}, 52}, {{5, 3}, 130}, {{5, 7}, 530}, {{3, 4}, 120}}, {10, 11});
    CHECK(two.bytes == Approx(2500));
    CHECK(two.most == Approx(two.bytes));
    // 2 b, and s rounded up to a multiple of 64.
    const SizeGuess padded = guess(terms, {{{3, 50}, 384}, {{5, 100}, 1280}, {{5, 130}, 1920}, {{2, 256}, 1024}}, {10, 300});
    CHECK(padded.bytes == Approx(6400));
    CHECK(padded.most == padded.bytes);
    // Whole pages: no law. Nearest is b.
    const SizeGuess pages = guess(terms, {{{20, 3}, 4096}, {{41, 3}, 8192}, {{82, 3}, 20480}}, {164, 3});
    CHECK(pages.bytes == Approx(4096 * 164 / 20.0));
    CHECK(pages.most == Approx(20480 * 2));
}

TEST_CASE("what the recordings do not tell apart is in doubt") {
    const SizeTerms terms{2};
    const SizeGuess guessed = guess(terms, {{{2, 3}, 12}, {{4, 3}, 24}}, {2, 6});
    CHECK(guessed.bytes == Approx(12));
    CHECK(guessed.most == Approx(48));  // 2 b s, or 2/3 b s^2
}

TEST_CASE("a law has at most eight numbers, and they have products of three") {
    CHECK(SizeTerms{0}.count() == 1);
    CHECK(SizeTerms{3}.count() == 23);
    CHECK_NOTHROW(SizeTerms{8});
    CHECK_THROWS_WITH(SizeTerms{9}, "a law of sizes has at most 8 numbers, got 9");
}

TEST_CASE("blocks find their partners though one trace has blocks that the other has not") {
    const AllocationTrace small = training(4, 128, 64);
    const AllocationTrace large = training(16, 256, 192);
    REQUIRE(small.blocks.size() < large.blocks.size());
    std::vector<double> ratios;
    const SizeTerms terms{3};
    const auto one = terms.at({4, 128, 64}).plain;
    const auto other = terms.at({16, 256, 192}).plain;
    for (std::size_t i = 0; i < terms.count(); ++i) ratios.push_back(other[i] / one[i]);
    const auto partners = aligned_blocks(small, large, ratios);
    for (std::size_t i = 0; i < partners.size(); ++i) {
        REQUIRE(partners[i]);
        CHECK(small.scopes[small.blocks[i].scope] == large.scopes[large.blocks[*partners[i]].scope]);
        if (small.scopes[small.blocks[i].scope] == "layer" && small.blocks[i].bytes == 4 * 4 * 128 * 64)
            CHECK(large.blocks[*partners[i]].bytes == 4 * 16 * 256 * 192);
    }
    CHECK(aligned_blocks(small, small, {1.0})[5] == 5);
    CHECK(aligned_blocks(AllocationTrace{}, small, {1.0}).empty());
}

TEST_CASE("six recordings tell the peaks of all other sizes") {
    TraceLaw law{3, a100};
    CHECK_FALSE(law.at({4, 128, 64}));
    const std::vector<std::array<std::int64_t, 3>> recorded{{16, 384, 320}, {16, 64, 192},  {4, 128, 384},
                                                            {32, 64, 128},  {32, 128, 640}, {16, 64, 640}};
    for (const auto& [b, s, w] : recorded)
        law.add({static_cast<double>(b), static_cast<double>(s), static_cast<double>(w)}, training(b, s, w));
    CHECK(law.recordings() == 6);
    REQUIRE(law.errors().size() == 4);
    CHECK(law.errors().back() < 0.01);
    for (const std::int64_t batch : {4, 8, 16, 32, 64}) {
        for (const std::int64_t length : {64, 128, 192, 256, 384, 512}) {
            for (const std::int64_t width : {128, 192, 256, 320, 384, 512, 640, 768}) {
                CAPTURE(batch, length, width);
                CHECK(std::abs(off(law, batch, length, width)) < 0.01);
            }
        }
    }
}

TEST_CASE("the size of a block that few tokens do not take tells where it is taken, and sums over few rows stage nothing") {
    TraceLaw law{3, a100};
    const std::vector<std::array<std::int64_t, 3>> recorded{{64, 64, 320}, {8, 512, 192},  {16, 256, 320},
                                                            {4, 128, 256}, {64, 384, 192}, {64, 192, 640}};
    for (const auto& [b, s, w] : recorded)
        law.add({static_cast<double>(b), static_cast<double>(s), static_cast<double>(w)}, training(b, s, w));
    // Width, batch and length alone are nearer to those of recordings that have the blocks.
    for (const auto& [b, s, w] : std::vector<std::array<std::int64_t, 3>>{{8, 64, 640}, {4, 128, 640}, {4, 128, 768}, {2, 256, 320}}) {
        CAPTURE(b, s, w);
        CHECK(off(law, b, s, w) == 0);
    }
}

TEST_CASE("the number that decides how many blocks there are is told apart from sizes, once it can be") {
    const auto layers = [](int count) {
        AllocationTrace trace;
        for (int i = 0; i < 10 + 20 * count; ++i) trace.take({.bytes = 512});
        return trace;
    };
    TraceLaw law{2, a100};
    law.add({8, 2}, layers(2));
    law.add({16, 4}, layers(4));
    CHECK_FALSE(law.number_of_blocks_by());
    law.add({24, 6}, layers(6));
    CHECK_FALSE(law.number_of_blocks_by());  // it may be the batch
    law.add({64, 2}, layers(2));
    CHECK(law.number_of_blocks_by() == 1);
    TraceLaw sizes{2, a100};
    for (const double batch : {8, 16, 24, 64}) sizes.add({batch, 2 * batch}, layers(4));
    CHECK_FALSE(sizes.number_of_blocks_by());
}

TEST_CASE("a number that was the same in all recordings says nothing of others") {
    TraceLaw law{2, a100};
    law.add({4, 64}, training(4, 64, 64));
    law.add({8, 64}, training(8, 64, 64));
    CHECK(law.covers({16, 64}));
    CHECK_FALSE(law.covers({16, 128}));
    CHECK(law.is_recorded({4, 64}));
    CHECK_FALSE(law.is_recorded({4, 128}));
    CHECK(law.at({4, 64})->trace == training(4, 64, 64));
}

TEST_CASE("sizes far from all recordings are not covered, and sizes beyond all devices stay numbers") {
    TraceLaw law{2, a100};
    for (const std::int64_t batch : {4, 8, 16})
        law.add({static_cast<double>(batch), static_cast<double>(64 + batch)}, training(batch, 64 + batch, 64));
    CHECK(law.covers({64, 64}));
    CHECK_FALSE(law.covers({65, 64}));
    CHECK_FALSE(law.covers({4, 16}));
    const auto far = law.at({8, 1e12});
    REQUIRE(far);
    for (const TracedBlock& block : far->most.blocks) CHECK(block.bytes >= 1);
    CHECK(requested_peak(far->most).bytes >= requested_peak(far->trace).bytes);
}

TEST_CASE("traces of very different lengths are not compared") {
    AllocationTrace few;
    AllocationTrace many;
    for (int i = 0; i < 20'000; ++i) few.take({.bytes = 512});
    for (int i = 0; i < 60'000; ++i) many.take({.bytes = 512});
    CHECK_THROWS_WITH(aligned_blocks(few, many, {1.0}), "it takes 20000 blocks in one run and 60000 in another");
}
