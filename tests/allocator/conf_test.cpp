// SPDX-License-Identifier: MIT
#include "hpo/allocator/conf.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;
using hpo::tests::mib;

namespace {

AllocatorSettings read(const std::string& text, LibTorchVersion version = {2, 11}) { return read_allocator_conf(text, version); }
std::vector<std::uint32_t> divisions(const std::string& text, LibTorchVersion version = {2, 11}) {
    const auto settings = read("roundup_power2_divisions:" + text, version);
    return {settings.power2_divisions.begin(), settings.power2_divisions.end()};
}

}  // namespace

TEST_CASE("a version of LibTorch is read from what its build calls itself") {
    CHECK(parse_libtorch_version("1.13.1") == LibTorchVersion{1, 13});
    CHECK(parse_libtorch_version("2.11.0+cu130") == LibTorchVersion{2, 11});
    CHECK(parse_libtorch_version("2.6") == LibTorchVersion{2, 6});
    for (const LibTorchVersion each : modelled_libtorch_versions) CHECK(parse_libtorch_version(to_text(each)) == each);
    CHECK(std::is_sorted(modelled_libtorch_versions.begin(), modelled_libtorch_versions.end()));
    CHECK(modelled_libtorch_versions.front() == LibTorchVersion{1, 13});
    CHECK(modelled_libtorch_versions.at(1) == LibTorchVersion{2, 0});
    CHECK(modelled_libtorch_versions.back() == LibTorchVersion{});
    CHECK_FALSE(parse_libtorch_version("2"));
    CHECK_FALSE(parse_libtorch_version("main"));
    CHECK_FALSE(parse_libtorch_version(""));
}

TEST_CASE("nothing said leaves the allocator as LibTorch has it") {
    for (const LibTorchVersion version : {LibTorchVersion{1, 13}, LibTorchVersion{2, 1}, LibTorchVersion{2, 11}}) {
        AllocatorSettings usual;
        usual.version = version;
        CHECK(read("", version) == usual);
        CHECK(read(" , ", version) == usual);
    }
}

TEST_CASE("every option that changes memory is read") {
    const AllocatorSettings settings = read(
        "max_split_size_mb:128, garbage_collection_threshold:0.8,expandable_segments:True,max_non_split_rounding_mb:30,"
        "per_process_memory_fraction:0.5");
    CHECK(settings.max_split_bytes == 128 * mib);
    CHECK(settings.garbage_collection_threshold == 0.8);
    CHECK(settings.expandable_segments);
    CHECK(settings.max_non_split_rounding_bytes == 30 * mib);
    CHECK(settings.memory_fraction == 0.5);
    CHECK(read("roundup_bypass_threshold_mb:64", {1, 13}).roundup_bypass_bytes == 64 * mib);
    CHECK(read("max_split_size_mb:40,max_split_size_mb:50").max_split_bytes == 50 * mib);
    CHECK(read("per_process_memory_fraction:1.0").memory_fraction == 1.0);
}

TEST_CASE("the size of large segments moves what is bounded by it, wherever it stands") {
    CHECK(read("large_segment_size_mb:40").max_non_split_rounding_bytes == 40 * mib);
    CHECK(read("max_split_size_mb:40,large_segment_size_mb:40").max_split_bytes == 40 * mib);
    CHECK(read("large_segment_size_mb:11,max_split_size_mb:12").max_split_bytes == 12 * mib);
    CHECK_THROWS_WITH(read("max_split_size_mb:39,large_segment_size_mb:40"),
                      "PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb: got '39'; expected a number of MiB from 40 on");
    CHECK_THROWS_WITH(read("large_segment_size_mb:10"),
                      "PYTORCH_CUDA_ALLOC_CONF: large_segment_size_mb: got '10'; expected a number of MiB from 11 on");
}

TEST_CASE("the least max_split_size_mb is 21 before LibTorch 2.6 and 20 since") {
    CHECK(read("max_split_size_mb:20", {2, 6}).max_split_bytes == 20 * mib);
    CHECK_THROWS_AS(read("max_split_size_mb:19", {2, 6}), hpo::Error);
    CHECK(read("max_split_size_mb:21", {1, 13}).max_split_bytes == 21 * mib);
    CHECK_THROWS_AS(read("max_split_size_mb:20", {1, 13}), hpo::Error);
    CHECK_THROWS_AS(read("max_split_size_mb:20", {2, 1}), hpo::Error);
}

// The lists of 2.11 are what its own c10::CachingAllocator::AcceleratorAllocatorConfig says of these texts.
TEST_CASE("divisions between powers of two are read as LibTorch reads them") {
    CHECK(divisions("[64:8,128:2,256:4,512:2,1024:4,>:1]") == std::vector<std::uint32_t>{8, 8, 8, 8, 8, 8, 8, 2, 4, 2, 4, 1, 1, 1, 1, 1});
    CHECK(divisions("[256:1,512:2,1024:4,>:8]") == std::vector<std::uint32_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8});
    CHECK(divisions("[>:4]") == std::vector<std::uint32_t>{0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    CHECK(divisions("[256:1,512:2,1024:4,>:8]", {2, 1}) == std::vector<std::uint32_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8});
    CHECK(divisions("4") == std::vector<std::uint32_t>(16, 4));
    CHECK(divisions("4", {1, 13}) == std::vector<std::uint32_t>(16, 4));
    CHECK_THROWS_WITH(divisions("[256:1]", {1, 13}),
                      "PYTORCH_CUDA_ALLOC_CONF: roundup_power2_divisions: got '[256:1]'; expected one power of "
                      "two before LibTorch 2.0");
    CHECK_THROWS_WITH(divisions("1", {1, 13}),
                      "PYTORCH_CUDA_ALLOC_CONF: roundup_power2_divisions: got '1'; expected a power of two from 2 on");
    for (const char* wrong : {"0", "3", "-4", "x", "[256:3]", "[3:4]", "[256]", "[256:4", "4.0"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(divisions(wrong), hpo::Error);
    }
}

TEST_CASE("an option that a version has not is named with the version that has it") {
    CHECK_THROWS_WITH(read("expandable_segments:True", {1, 13}),
                      "PYTORCH_CUDA_ALLOC_CONF: expandable_segments: LibTorch 1.13 does not know this option; it was added in 2.1");
    CHECK_THROWS_WITH(
        read("roundup_bypass_threshold_mb:4", {2, 6}),
        "PYTORCH_CUDA_ALLOC_CONF: roundup_bypass_threshold_mb: LibTorch 2.6 does not know this option; it was removed in 2.0");
    CHECK_THROWS_WITH(read("large_segment_size_mb:40", {2, 10}),
                      "PYTORCH_CUDA_ALLOC_CONF: large_segment_size_mb: LibTorch 2.10 does not know this option; it was added in 2.11");
    CHECK_THROWS_WITH(read_allocator_conf("max_split_size:4", {1, 13}, "options"),
                      "options: unknown option of LibTorch 1.13's allocator 'max_split_size'; did you mean 'max_split_size_mb'?; known: "
                      "max_split_size_mb, roundup_power2_divisions, roundup_bypass_threshold_mb, garbage_collection_threshold");
}

TEST_CASE("options of the host's memory change nothing") {
    AllocatorSettings usual;
    usual.version = {2, 11};
    CHECK(read("backend:native,pinned_use_background_threads:True,release_lock_on_cudamalloc:True") == usual);
}

TEST_CASE("a value that LibTorch refuses is refused with what it expects") {
    for (const char* wrong : {"max_split_size_mb", "max_split_size_mb:", "max_split_size_mb:1e3", "garbage_collection_threshold:0",
                              "garbage_collection_threshold:1.0", "expandable_segments:true", "per_process_memory_fraction:1.5",
                              "max_non_split_rounding_mb:19", ":", ":4", "backend:cudaMallocAsync"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(read(wrong), hpo::Error);
    }
    CHECK_THROWS_WITH(read("max_split_size_mb"), "PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb: got no value; expected NAME:VALUE");
    CHECK_THROWS_WITH(read("backend:cudaMallocAsync"),
                      "PYTORCH_CUDA_ALLOC_CONF: backend: got 'cudaMallocAsync'; expected native, the one whose "
                      "memory can be predicted");
}
