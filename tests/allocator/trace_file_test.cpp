// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_file.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/core/seed.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo::allocator;

namespace {

AllocationTrace small_trace() {
    AllocationTrace trace;
    trace.libtorch = "1.13.1";
    trace.scopes.emplace_back("encoder aten::mm");
    trace.enter("build");
    trace.take({.bytes = 300, .scope = 1});
    trace.enter("forward");
    trace.give_back(trace.take({.bytes = 1}));
    trace.take({.bytes = std::int64_t{1} << 40});
    trace.give_back(0);
    return trace;
}
/// Bytes that say nothing of LibTorch, with the right checksum.
std::string sealed(const std::string& after_libtorch) {
    const std::string bytes = std::string{"hpotrace\x02\0", 10} + after_libtorch;
    return bytes + trace_checksum(bytes);
}
std::string error_of(std::string_view bytes) {
    try {
        (void)decode_trace({.bytes = bytes, .place = "x.trace"});
    } catch (const hpo::Error& error) {
        return error.what();
    }
    return "none";
}

}  // namespace

TEST_CASE("a trace comes back from its file as it was") {
    const hpo::tests::TemporaryDirectory directory;
    const std::filesystem::path file = directory.path() / "a.trace";
    hpo::Rng rng{4};
    for (int round = 0; round < 50; ++round) {
        AllocationTrace trace = hpo::tests::random_trace(rng, 300);
        for (auto& block : trace.blocks) {
            if (rng.below(2) == 0) block.scope = static_cast<std::uint32_t>(trace.scopes.size());
            if (block.scope == trace.scopes.size()) trace.scopes.push_back(std::string(rng.below(300), 'm'));
        }
        trace.phases = {{0, "build"}, {17, "forward"}, {17, "a phase of nothing"}, {300, "end"}};
        write_trace(file, trace);
        CHECK(read_trace(file) == trace);
    }
    CHECK(decode_trace({.bytes = encode_trace({}), .place = "nothing"}) == AllocationTrace{});
    CHECK(decode_trace({.bytes = encode_trace(small_trace()), .place = "x"}) == small_trace());
}

TEST_CASE("the bytes of a trace are those that the format says") {
    const std::string bytes{
        "hpotrace"
        "\x02"
        "\x06"
        "1.13.1"
        "\x02"
        "\0"
        "\x10"
        "encoder aten::mm"
        "\x03"
        "\xac\x02\x01"
        "\x01\0"
        "\x80\x80\x80\x80\x80\x20\0"
        "\x05"
        "\0\0\x01\0\x03"
        "\x02"
        "\0\x05"
        "build"
        "\x01\x07"
        "forward",
        71};
    CHECK(encode_trace(small_trace()) == bytes + trace_checksum(bytes));
    CHECK(trace_checksum("123456789") == "\x26\x39\xf4\xcb");
}

TEST_CASE("ten events of a training take less than three bytes each") {
    AllocationTrace trace;
    for (int i = 0; i < 5000; ++i) trace.give_back(trace.take({.bytes = 512 * (1 + i % 7)}));
    CHECK(encode_trace(trace).size() < 30000);
}

TEST_CASE("every cut and every wrong byte of a trace file is an error of one line") {
    const std::string whole = encode_trace(small_trace());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string error = error_of(std::string_view{whole}.substr(0, length));
        CHECK(error.starts_with("x.trace: "));
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::string wrong = whole;
            wrong[at] = static_cast<char>(value);
            const std::string error = error_of(wrong);
            CHECK((error == "none") == (wrong == whole));
            CHECK(error.find('\n') == std::string::npos);
        }
    }
}

TEST_CASE("every single bit that flips in a larger trace is told") {
    hpo::Rng rng{11};
    const std::string whole = encode_trace(hpo::tests::random_trace(rng, 400));
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string wrong = whole;
        wrong[bit / 8] = static_cast<char>(static_cast<unsigned char>(wrong[bit / 8]) ^ (1U << (bit % 8)));
        CHECK_THROWS_AS(decode_trace({.bytes = wrong, .place = "x"}), hpo::Error);
    }
}

TEST_CASE("bytes that are no trace under a right checksum are an error of one line or a trace that can be replayed") {
    const std::string whole = encode_trace(small_trace());
    const std::string body = whole.substr(0, whole.size() - trace_checksum_bytes);
    for (std::size_t at = 0; at < body.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::string wrong = body;
            wrong[at] = static_cast<char>(value);
            try {
                const AllocationTrace other = decode_trace({.bytes = wrong + trace_checksum(wrong), .place = "x"});
                CHECK(decode_trace({.bytes = encode_trace(other), .place = "x"}) == other);
                (void)simulate(other, {});
            } catch (const hpo::Error& error) {
                CHECK(std::string{error.what()}.find('\n') == std::string::npos);
            }
        }
    }
}

TEST_CASE("what is not a trace is said, with the byte") {
    CHECK(error_of("") == "x.trace: not an allocation trace");
    CHECK(error_of("hpotrace\x01") == "x.trace: an allocation trace of version 1; expected version 2: record it again");
    CHECK(error_of("hpotrace\x02") == "x.trace: byte 9: damaged allocation trace: it ends early");
    CHECK(error_of(encode_trace(small_trace()) + "!") == "x.trace: damaged allocation trace: its checksum does not match its bytes");
    CHECK(error_of(sealed(std::string{"\x01\0\0\0\0!", 6})) == "x.trace: byte 15: damaged allocation trace: more than a trace");
    CHECK(error_of(sealed(std::string{"\x01\0\x01\x05\x03", 5})) == "x.trace: byte 15: damaged allocation trace: scope 3 of 1");
    CHECK(error_of(sealed(std::string{"\x01\0\0\x01\x01\0", 6})) ==
          "x.trace: byte 15: damaged allocation trace: a block is given back that nobody holds");
    CHECK(error_of(sealed("\x01\xff\xff\x03")) == "x.trace: byte 14: damaged allocation trace: a length of 65535 with less behind it");
    CHECK_THROWS_WITH(read_trace("/nowhere/a.trace"), "/nowhere/a.trace: cannot be read");
    CHECK_THROWS_WITH(write_trace("/nowhere/a.trace", {}), "/nowhere/a.trace: cannot be written: No such file or directory");
    std::string endless{"\x01\0\x80\x40", 4};
    for (int i = 0; i < 8192; ++i) endless += std::string{"\x80\x80\x80\x80\x80\x80\x80\x02\0", 9};  // 2^50 bytes
    CHECK(error_of(sealed(endless)) == "x.trace: byte 9239: damaged allocation trace: more than 2^60 bytes in all");
    AllocationTrace endless_trace;
    for (int i = 0; i < 1025; ++i) endless_trace.take({.bytes = largest_traced_bytes});
    CHECK_THROWS_WITH(encode_trace(endless_trace), "allocation trace: more than 2^60 bytes in all");
    AllocationTrace backwards;
    backwards.blocks.resize(2, {.bytes = 1});
    backwards.events = {1, 0};
    CHECK_THROWS_WITH(encode_trace(backwards), "allocation trace: blocks are not taken in the order of their numbers");
}

TEST_CASE("what is there and not a file is not written over") {
    const hpo::tests::TemporaryDirectory folder;
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH(write_trace(pipe, AllocationTrace{}), Catch::Contains("it exists and is not a regular file"));
    CHECK(std::filesystem::is_fifo(pipe));
}
