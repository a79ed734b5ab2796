// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "torch/meta/card.hpp"
#include "torch/meta/staging.hpp"

namespace {

using hpo::allocator::Staging;
using hpo::libtorch::Card;

Staging staging(const torch::Tensor& input, const std::vector<std::int64_t>& dimensions, const Card& card = {}) {
    return hpo::allocator::staging_of(hpo::libtorch::reduction_of(input, dimensions), card.threads());
}
torch::Tensor matrix(std::int64_t rows, std::int64_t columns) { return torch::empty({rows, columns}, torch::kMeta); }

}  // namespace

// The sizes are those that LibTorch 2.11's history had on a virtual A100.
TEST_CASE("a sum over many rows stages a part of each result for each block of threads") {
    const Staging bias = staging(matrix(8192, 768), {0});
    CHECK(bias.buffer == 50331648);
    CHECK(bias.counters == 24);
    const Staging odd = staging(matrix(8192, 30), {0});
    CHECK(odd.buffer == 30720);
    CHECK(odd.counters == 8);
    const Staging outer = staging(matrix(1024, 512), {0});
    CHECK(outer.buffer == 4194304);
    CHECK(outer.counters == 16);
    const Staging strided = staging(matrix(8192, 768).slice(1, 0, 768, 2), {0});
    CHECK(strided.buffer == 1572864);
    CHECK(strided.counters == 48);
    const Staging all = staging(torch::empty({64, 128, 256}, torch::kMeta), {});
    CHECK(all.buffer == 1024);
    CHECK(all.counters == 4);
}

TEST_CASE("a sum stages nothing if a block of threads has its result for itself") {
    CHECK(staging(matrix(8192, 768), {1}).buffer == 0);
    CHECK(staging(matrix(768, 8192).t(), {0}).buffer == 0);
    CHECK(staging(matrix(32, 10), {}).buffer == 0);
    CHECK(staging(torch::empty({64, 128, 256}, torch::kMeta), {1}).buffer == 0);
    CHECK(staging(torch::empty({0, 4}, torch::kMeta), {0}).buffer == 0);
    CHECK(staging(torch::empty({}, torch::kMeta), {}).buffer == 0);
}

TEST_CASE("a card of fewer multiprocessors shares a sum among fewer blocks of threads") {
    const torch::Tensor all = torch::empty({4096, 4096}, torch::kMeta);
    CHECK(staging(all, {}, {{8, 6}, 10}).buffer < staging(all, {}, {{8, 0}, 108}).buffer);
    CHECK(Card{{8, 9}, 128}.threads().threads_of_multiprocessor == 1536);
    CHECK(Card{{7, 5}, 40}.threads().threads_of_multiprocessor == 1024);
}
