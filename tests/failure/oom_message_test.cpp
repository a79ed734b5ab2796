// SPDX-License-Identifier: MIT
#include "hpo/failure/oom_message.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hpo/failure/framework_message.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using hpo::parse_oom_message;
using hpo::tests::gib;
using hpo::tests::kib;
using hpo::tests::mib;

namespace {

std::int64_t bytes(double value) { return static_cast<std::int64_t>(value < 0 ? value - 0.5 : value + 0.5); }

const std::string format_a =
    "CUDA out of memory. Tried to allocate 381.50 MiB (GPU 1; 7.92 GiB total capacity; 7.16 GiB already allocated; 231.00 MiB free; 452.50 "
    "KiB cached)";
const std::string format_b =
    "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 14.76 GiB total capacity; 13.66 GiB already allocated; 13.75 MiB free; 13.83 "
    "GiB reserved in total by PyTorch)";
const std::string format_c =
    "CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 23.69 GiB total capacity; 11.72 GiB already allocated; 11.05 GiB free; 11.85 "
    "GiB allowed; 11.78 GiB reserved in "
    "total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation "
    "for Memory Management and "
    "PYTORCH_CUDA_ALLOC_CONF";
const std::string format_d =
    "CUDA out of memory. Tried to allocate 144.00 MiB. GPU 0 has a total capacty of 23.65 GiB of which 86.84 MiB is free. Process 79944 "
    "has 7.63 GiB memory in use. Process "
    "74459 has 3.27 GiB memory in use. Including non-PyTorch memory, this process has 12.67 GiB memory in use. Of the allocated memory "
    "12.05 GiB is allocated by PyTorch, and "
    "220.82 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid "
    "fragmentation.";
const std::string format_e =
    "CUDA out of memory. Tried to allocate 132.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 11.43 GiB is free. Including "
    "non-PyTorch memory, this process has 12.13 "
    "GiB memory in use. 11.78 GiB allowed; Of the allocated memory 11.57 GiB is allocated by PyTorch, with 28.00 MiB allocated in private "
    "pools (e.g., CUDA Graphs), and 147.85 "
    "MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";

}  // namespace

TEST_CASE("the message of LibTorch 1.3 and before gives allocated, free and what is cached beside them") {
    const auto message = parse_oom_message(format_a);
    REQUIRE(message);
    CHECK(message->requested_bytes == bytes(381.5 * mib));
    CHECK(message->memory.capacity == bytes(7.92 * gib));
    CHECK(message->memory.allocated == bytes(7.16 * gib));
    CHECK(message->memory.free == bytes(231 * mib));
    CHECK(message->memory.reserved == bytes(7.16 * gib) + bytes(452.5 * kib));
    CHECK_FALSE(message->memory.limit);
    CHECK_FALSE(message->process_bytes);
}

TEST_CASE("less that is reserved than allocated is not believed") {
    const auto message = parse_oom_message(
        "CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 11.17 GiB total capacity; 10.62 GiB already allocated; "
        "145.81 MiB free; 198.68 MiB reserved in total by PyTorch)");
    REQUIRE(message);
    CHECK(message->memory.allocated == bytes(10.62 * gib));
    CHECK_FALSE(message->memory.reserved);
}

TEST_CASE("the messages of 1.5 to 2.0 give the reserved total, and the cap when there is one") {
    const auto plain = parse_oom_message(format_b);
    REQUIRE(plain);
    CHECK(plain->memory.reserved == bytes(13.83 * gib));
    CHECK(plain->memory.allocated == bytes(13.66 * gib));
    CHECK_FALSE(plain->memory.limit);
    const auto capped = parse_oom_message(format_c);
    REQUIRE(capped);
    CHECK(capped->memory.limit == bytes(11.85 * gib));
    CHECK(capped->memory.free == bytes(11.05 * gib));
    CHECK(capped->requested_bytes == bytes(128 * mib));
}

TEST_CASE("the messages of 2.1 and later give processes and reserved as a sum, with either spelling of capacity") {
    const auto d = parse_oom_message(format_d);
    REQUIRE(d);
    CHECK(d->memory.capacity == bytes(23.65 * gib));
    CHECK(d->process_bytes == bytes(12.67 * gib));
    CHECK(d->memory.reserved == bytes(12.05 * gib) + bytes(220.82 * mib));
    REQUIRE(d->memory.neighbours.size() == 2);
    CHECK(d->memory.neighbours[0] == hpo::MemoryNeighbour{79944, bytes(7.63 * gib)});
    CHECK(d->memory.neighbours[1] == hpo::MemoryNeighbour{74459, bytes(3.27 * gib)});
    const auto e = parse_oom_message(format_e);
    REQUIRE(e);
    CHECK(e->memory.limit == bytes(11.78 * gib));
    CHECK(e->memory.allocated == bytes(11.57 * gib));
    CHECK(e->memory.reserved == bytes(11.57 * gib) + bytes(147.85 * mib));
    CHECK(e->memory.neighbours.empty());
}

TEST_CASE("in a container the process that is listed under a foreign number is our own") {
    const auto message = parse_oom_message(
        "CUDA out of memory. Tried to allocate 320.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 93.01 MiB is free. Process "
        "3121620 has 23.47 GiB memory in use. Of "
        "the allocated memory 22.99 GiB is allocated by PyTorch, and 69.84 MiB is reserved by PyTorch but unallocated.");
    REQUIRE(message);
    CHECK(message->process_bytes == bytes(23.47 * gib));
    CHECK(message->memory.neighbours.empty());
}

TEST_CASE("in a container other processes stay neighbours") {
    const auto message = parse_oom_message(
        "CUDA out of memory. Tried to allocate 320.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 93.01 MiB is free. Process 11 "
        "has 15.00 GiB memory in use. Process 12 "
        "has 8.40 GiB memory in use. Of the allocated memory 7.90 GiB is allocated by PyTorch, and 69.84 MiB is reserved by PyTorch but "
        "unallocated.");
    REQUIRE(message);
    CHECK(message->process_bytes == bytes(8.40 * gib));
    REQUIRE(message->memory.neighbours.size() == 1);
    CHECK(message->memory.neighbours[0].pid == 11);
}

TEST_CASE("a figure that means not available is absent") {
    const auto message = parse_oom_message(
        "CUDA out of memory. Tried to allocate 256.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 210.14 MiB is free. Process 9 "
        "has 17179869184.00 GiB memory in use. "
        "Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 22.70 GiB is allocated "
        "by PyTorch, and 253.70 MiB is reserved by "
        "PyTorch but unallocated.");
    REQUIRE(message);
    CHECK_FALSE(message->process_bytes);
    CHECK(message->memory.neighbours.empty());
    CHECK(message->memory.allocated == bytes(22.70 * gib));
}

TEST_CASE("0 bytes free is a figure, a missing one is not") {
    const auto full = parse_oom_message(
        "CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 11.17 GiB total capacity; 10.73 GiB already allocated; 0 bytes free; 10.90 "
        "GiB reserved in total by PyTorch)");
    REQUIRE(full);
    CHECK(full->memory.free == 0);
    const auto huge = parse_oom_message("CUDA out of memory. Tried to allocate more than 1EB memory.");
    REQUIRE(huge);
    CHECK_FALSE(huge->requested_bytes);
    CHECK(huge->memory == hpo::MemoryReading{});
    CHECK_FALSE(parse_oom_message("Not enough memory for workspace!"));
    CHECK_FALSE(parse_oom_message(""));
}

TEST_CASE("other devices use the same shape") {
    const auto hip = parse_oom_message(
        "HIP out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of 15.98 GiB of which 1.20 GiB is free. Of the "
        "allocated memory 13.10 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.");
    REQUIRE(hip);
    CHECK(hip->requested_bytes == bytes(2.25 * gib));
    CHECK(hip->memory.capacity == bytes(15.98 * gib));
}

TEST_CASE("a message that was cut gives the figures before the cut and none after it") {
    for (const std::string& whole : {format_a, format_b, format_c, format_d, format_e}) {
        const auto full = parse_oom_message(whole);
        REQUIRE(full);
        for (std::size_t length = 0; length <= whole.size(); ++length) {
            const auto part = parse_oom_message(whole.substr(0, length));
            if (!part) continue;
            CAPTURE(whole.substr(0, length));
            const auto same_or_absent = [](const auto& cut, const auto& value) { return !cut || cut == value; };
            CHECK(same_or_absent(part->requested_bytes, full->requested_bytes));
            CHECK(same_or_absent(part->process_bytes, full->process_bytes));
            CHECK(same_or_absent(part->memory.allocated, full->memory.allocated));
            CHECK(same_or_absent(part->memory.reserved, full->memory.reserved));
            CHECK(same_or_absent(part->memory.free, full->memory.free));
            CHECK(same_or_absent(part->memory.capacity, full->memory.capacity));
            CHECK(same_or_absent(part->memory.limit, full->memory.limit));
        }
    }
    const auto at_180 = parse_oom_message(format_d.substr(0, 180));
    REQUIRE(at_180);
    CHECK(at_180->memory.free == bytes(86.84 * mib));
    CHECK(at_180->memory.neighbours.size() == 1);
}

TEST_CASE("a message inside a traceback, printed twice, is read once") {
    const auto message = parse_oom_message("Traceback (most recent call last):\n  File \"x.py\", line 12\n" + format_b +
                                           "\n\nDuring handling:\n" + format_d);
    REQUIRE(message);
    CHECK(message->memory.capacity == bytes(14.76 * gib));
    CHECK(message->memory.neighbours.empty());
}

TEST_CASE("no mutation of a message crashes the parser or yields an absurd figure") {
    std::mt19937_64 random{20250124};
    const std::vector<std::string> seeds{format_a, format_b, format_c, format_d, format_e};
    const std::string alphabet = "0123456789.eE+-() GMKTiBbytesn\n\x01\xff";
    const auto sane = [](const std::optional<std::int64_t>& value) { return !value || (*value >= 0 && *value <= (std::int64_t{1} << 50)); };
    int still_read = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string text = seeds[random() % seeds.size()];
        const auto edits = 1 + random() % 12;
        for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
            const auto at = random() % text.size();
            switch (random() % 5) {
                case 0: text[at] = alphabet[random() % alphabet.size()]; break;
                case 1: text.erase(at, 1 + random() % 20); break;
                case 2: text.insert(at, 1 + random() % 30, alphabet[random() % alphabet.size()]); break;
                case 3: text.resize(at); break;
                default: text += text.substr(at, random() % 80); break;
            }
        }
        const auto message = parse_oom_message(text);
        if (!message) continue;
        ++still_read;
        const auto& m = message->memory;
        bool fine = sane(message->requested_bytes) && sane(message->process_bytes) && sane(m.allocated) && sane(m.free) &&
                    sane(m.capacity) && sane(m.limit) && (!m.reserved || (*m.reserved >= 0 && *m.reserved <= (std::int64_t{1} << 51)));
        for (const auto& neighbour : m.neighbours) fine = fine && neighbour.bytes >= 0 && neighbour.bytes <= (std::int64_t{1} << 50);
        if (!fine) FAIL(text);
    }
    CHECK(still_read > 5000);  // many mutants are still messages, or nothing above was looked at
}

TEST_CASE("XGBoost prints bytes, or since 2.1 a size in binary units") {
    const auto figures = [](const std::string& free, const std::string& requested) {
        return hpo::read_oom_figures(
            "Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: " + free +
            "\n- Requested memory: " + requested + "\n");
    };
    struct Case {
        std::string text;
        double bytes;
    };
    for (const Case& each : {Case{"3.5GB", 3.5 * 0x1p30},
                             {"768KB", 768 * 0x1p10},
                             {"14.32MB", 14.32 * 0x1p20},
                             {"512B", 512},
                             {"3758096384", 3758096384.},
                             {"3.5 GB", 3.5 * 0x1p30},
                             {"1.5GiB", 1.5 * 0x1p30},
                             {"2TB", 0x1p41},
                             {"1e+09B", 1e9}}) {
        CAPTURE(each.text);
        const auto told = figures(each.text, each.text);
        REQUIRE(told);
        CHECK(told->requested_bytes == static_cast<std::int64_t>(std::round(each.bytes)));
        CHECK(told->memory.free == told->requested_bytes);
    }
}

TEST_CASE("figures that do not add up say nothing") {
    // "22.40 GiB" was cut behind its point.
    const auto cut = hpo::parse_oom_message(
        "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 512.00 MiB is free. Of the "
        "allocated "
        "memory 22.\n40 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.");
    REQUIRE(cut);
    CHECK(cut->requested_bytes == std::int64_t{3} << 29);
    CHECK_FALSE(cut->memory.allocated);
    CHECK_FALSE(cut->memory.capacity);
}
