// SPDX-License-Identifier: MIT
#include "hpo/weights/safetensors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hpo/base/plain_text.hpp"
#include "hpo/weights/weights.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "weights/write_safetensors.hpp"

using namespace hpo::weights;
using Catch::Contains;
using Catch::EndsWith;

namespace {

std::string length_of(std::uint64_t value) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}
std::string image(const std::string& header, std::size_t data_bytes) {
    std::string text = length_of(header.size()) + header;
    for (std::size_t i = 0; i < data_bytes; ++i) text += static_cast<char>(i);
    return text;
}
SafetensorsContent read(const std::string& file) { return read_safetensors(std::as_bytes(std::span{file}), "m.safetensors"); }
std::string why(const std::string& file) {
    try {
        (void)read(file);
    } catch (const hpo::Error& error) {
        const std::string text = error.what();
        CHECK(text.starts_with("m.safetensors: "));
        CHECK(hpo::is_plain_text(text));
        return text.substr(std::string{"m.safetensors: "}.size());
    }
    return "accepted";
}
std::string why(const std::string& header, std::size_t data_bytes) { return why(image(header, data_bytes)); }
std::string content_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream{file, std::ios::binary}.rdbuf();
    return text.str();
}

constexpr const char* one_byte = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";

/// Tensors over their own bytes.
struct Sample {
    std::vector<float> floats{1.5F, -2, 3, 4, 5, 6};
    std::vector<std::uint8_t> bytes{7, 8, 9};
    std::vector<std::int64_t> whole{1LL << 40};
    [[nodiscard]] TensorMap tensors() const {
        return {{"layer.weight", {Dtype::f32, {2, 3}, std::as_bytes(std::span{floats})}},
                {"bytes", {Dtype::u8, {3}, std::as_bytes(std::span{bytes})}},
                {"step", {Dtype::i64, {}, std::as_bytes(std::span{whole})}},
                {"none", {Dtype::bf16, {0, 5}, {}}}};
    }
};

}  // namespace

TEST_CASE("a file's tensors have their types, shapes and bytes") {
    const std::string file = image(
        R"({"b":{"data_offsets":[4,8],"dtype":"I16","shape":[2,1]},"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  )",
        8);
    const auto content = read(file);
    CHECK(content.metadata == Metadata{{"format", "pt"}});
    REQUIRE(content.tensors.size() == 2);
    CHECK(content.tensors.at("a").dtype == Dtype::f32);
    CHECK(content.tensors.at("a").shape.empty());
    CHECK(content.tensors.at("b").shape == std::vector<std::int64_t>{2, 1});
    CHECK(std::to_integer<int>(content.tensors.at("b").bytes[0]) == 4);
    CHECK(read(image("{}", 0)).tensors.empty());
}

TEST_CASE("every type of the format has its width") {
    for (const DtypeEntry& each : dtype_entries) {
        CAPTURE(each.name);
        const std::size_t bytes = each.bits;  // of eight elements
        const std::string header =
            R"({"a":{"dtype":")" + std::string{each.name} + R"(","shape":[2,4],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
        CHECK(read(image(header, bytes)).tensors.at("a").dtype == each.dtype);
        CHECK_THAT(why(header, bytes + 1), Contains("1 bytes after the last tensor"));
    }
    CHECK(why(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2) ==
          "tensor 'a': data_offsets 0 to 2 are 2 bytes; F4 of shape [3] is no number of whole bytes");
}

TEST_CASE("files that are cut short or claim impossible headers are refused") {
    CHECK(why("") == "cut short: 0 bytes; expected 8 that tell the header's length");
    CHECK(why("1234567") == "cut short: 7 bytes; expected 8 that tell the header's length");
    CHECK(why(length_of(1ULL << 60)) == "a header of 1152921504606846976 bytes; expected at most 100000000");
    CHECK(why(length_of(~0ULL)) == "a header of 18446744073709551615 bytes; expected at most 100000000");
    CHECK_THAT(why("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n"), Catch::Contains("a pointer of Git LFS"));
    CHECK(why(length_of(3) + "{}") == "cut short: 10 bytes; expected a header of 3");
    CHECK(why(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7) ==
          "tensor 'a': data_offsets 0 to 8 reach past the 7 bytes of data; cut short?");
}

TEST_CASE("every cut of a whole file is refused") {
    const std::string whole = image("{" + std::string{one_byte} + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3);
    CHECK(why(whole) == "accepted");
    for (std::size_t size = 0; size < whole.size(); ++size) CHECK(why(whole.substr(0, size)) != "accepted");
}

TEST_CASE("tensors that overlap, leave gaps or lie elsewhere are refused by name") {
    const auto two = [](const std::string& b) {
        return "{" + std::string{one_byte} + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
    };
    CHECK(why(two("[0,2]"), 2) == "tensor 'b': data_offsets begin at 0 inside tensor 'a'");
    CHECK(why(two("[2,4]"), 4) == "tensor 'b': data_offsets begin at 2, but the bytes from 1 on belong to no tensor");
    CHECK(why(two("[1,3]"), 5) == "2 bytes after the last tensor belong to none");
    CHECK_THAT(why(two("[1,5]"), 3), Contains("tensor 'b': data_offsets 1 to 5 reach past the 3 bytes"));
    CHECK_THAT(why(two("[3,1]"), 3), Contains("tensor 'b': data_offsets: expected a begin and an end not before it"));
    CHECK_THAT(why(two("[1]"), 3), Contains("tensor 'b': data_offsets: expected a begin and an end"));
    CHECK_THAT(why(two("[1,1e30]"), 3), Contains("tensor 'b': data_offsets: 1e+30; expected whole numbers"));
    CHECK_THAT(why(two("[1,18446744073709551615]"), 3), Contains("expected whole numbers from 0 to 2^63 - 1"));
    CHECK_THAT(why(two("[-1,3]"), 3), Contains("tensor 'b': data_offsets: -1; expected whole numbers"));
    CHECK_THAT(why(two("7"), 3), Contains("tensor 'b': data_offsets: expected a list of numbers"));
}

TEST_CASE("types and shapes that do not fit are refused by name") {
    const auto with = [](const std::string& dtype, const std::string& shape) {
        return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":[0,4]}})";
    };
    CHECK(why(with("\"F32\"", "[1]"), 4) == "accepted");
    CHECK_THAT(why(with("\"FP32\"", "[1]"), 4), Contains("tensor 'a': unknown dtype 'FP32'; did you mean 'F32'?; known: F32, I32"));
    CHECK(why(with("5", "[1]"), 4) == "tensor 'a': dtype: expected a text");
    CHECK(why(with("\"F32\"", "[2]"), 4) == "tensor 'a': data_offsets 0 to 4 are 4 bytes; F32 of shape [2] takes 8");
    for (const char* shape : {"[4294967296,4294967296]", "[4611686018427387904,4611686018427387904,0]"})
        CHECK_THAT(why(with("\"F32\"", shape), 4), Contains("] multiplies to 2^64 bits or more"));
    CHECK_THAT(why(with("\"F32\"", "[1.5]"), 4), Contains("tensor 'a': shape: 1.5; expected whole numbers"));
    CHECK_THAT(why(with("\"F32\"", "[\"x\"]"), 4), Contains("tensor 'a': shape: \"x\"; expected whole numbers"));
    CHECK(why(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4) == "tensor 'a': shape: expected a list of numbers");
    CHECK(why(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4) == "tensor 'a': dtype: expected a text");
    CHECK(why(R"({"a":{"dtype":"F32","shape":[1]}})", 4) == "tensor 'a': data_offsets: expected a list of numbers");
    CHECK(why(R"({"a":7})", 4) == "tensor 'a': expected an object with dtype, shape and data_offsets");
}

TEST_CASE("headers that are no UTF-8, no JSON, or say things twice are refused") {
    CHECK(why("{" + std::string{one_byte} + "," + one_byte + "}", 1) == "header: 'a': stands there twice");
    CHECK(why(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1) == "header: 'a': has 'dtype' twice");
    CHECK(why(R"({"__metadata__":{"x":"1","x":"2"}})", 0) == "header: '__metadata__': has 'x' twice");
    CHECK_THAT(why("{\"\xff\":{}}", 0), Contains("header: not JSON in UTF-8"));
    CHECK_THAT(why("{\"a\"", 0), Contains("header: not JSON in UTF-8"));
    CHECK_THAT(why("", 0), Contains("header: not JSON in UTF-8"));
    CHECK_THAT(why("[1]", 0), EndsWith("header: expected an object"));
    CHECK_THAT(why(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1), Contains("'a': nested deeper than expected"));
    CHECK_THAT(why(std::string(1'000'000, '['), 0), Contains("nested deeper than expected"));
    CHECK(why(R"({"__metadata__":[]})", 0) == "__metadata__: expected an object of texts");
    CHECK(why(R"({"__metadata__":{"x":1}})", 0) == "__metadata__: 'x': expected a text");
}

TEST_CASE("control characters in a file's names are shown as JSON writes them") {
    const std::string name = R"(a\nb\u001b[31m\u009b)";
    const std::string seen = R"(a\nb\u001b[31m\u009b)";
    CHECK_THAT(why("{\"" + name + R"(":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", 1),
               Contains("tensor '" + seen + "': data_offsets 0 to 1 are 1 bytes"));
    CHECK_THAT(why("{\"" + name + R"(":{"dtype":"\u001b","shape":[1],"data_offsets":[0,1]}})", 1), Contains(R"(unknown dtype '\u001b')"));
    CHECK_THAT(why("{\"" + name + R"(":1,")" + name + "\":1}", 0), Contains("'" + seen + "': stands there twice"));
    CHECK_THAT(why(R"({"__metadata__":{")" + name + "\":1}}", 0), Contains("__metadata__: '" + seen + "'"));
    CHECK_THAT(
        why(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},")" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
            3),
        Contains("tensor '" + seen + "': data_offsets begin at 2, but"));
}

TEST_CASE("what was written is read again, and the same tensors give the same bytes") {
    const hpo::tests::TemporaryDirectory folder;
    const Sample sample;
    write_safetensors(folder.file("a.safetensors"), sample.tensors(), {{"epoch", "3"}, {"note", "gr\u00fcn \"q\"\n"}});
    write_safetensors(folder.file("b.safetensors"), sample.tensors(), {{"note", "gr\u00fcn \"q\"\n"}, {"epoch", "3"}});
    CHECK(content_of(folder.file("a.safetensors")) == content_of(folder.file("b.safetensors")));
    const Weights weights = Weights::open(folder.file("a.safetensors"));
    CHECK(weights.metadata() == Metadata{{"epoch", "3"}, {"note", "gr\u00fcn \"q\"\n"}});
    REQUIRE(weights.tensors().size() == 4);
    for (const auto& [name, tensor] : sample.tensors()) {
        CAPTURE(name);
        const Tensor& read = weights.at(name);
        CHECK(read.dtype == tensor.dtype);
        CHECK(read.shape == tensor.shape);
        CHECK(std::equal(read.bytes.begin(), read.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
        CHECK(reinterpret_cast<std::uintptr_t>(read.bytes.data()) % (entry(read.dtype).bits / 8) == 0);
    }
    CHECK(weights.find("layer") == nullptr);
    CHECK_THROWS_WITH(weights.at("layer"), EndsWith("a.safetensors: no tensor 'layer' among its 4"));
}

TEST_CASE("what cannot be written as asked is refused and leaves nothing behind") {
    const hpo::tests::TemporaryDirectory folder;
    const Sample sample;
    const auto file = folder.file("a.safetensors");
    const auto write = [&](const std::string& name, const Tensor& tensor, const Metadata& metadata = {}) {
        write_safetensors(file, {{name, tensor}}, metadata);
    };
    const Tensor good{Dtype::u8, {3}, std::as_bytes(std::span{sample.bytes})};
    CHECK_THROWS_WITH(write("x", {Dtype::u8, {4}, good.bytes}), EndsWith("tensor 'x': 3 bytes for U8 of shape [4]"));
    CHECK_THROWS_WITH(write("x", {Dtype::u8, {-3}, good.bytes}), Contains("tensor 'x'"));
    CHECK_THROWS_WITH(write("__metadata__", good), Contains("the name is reserved"));
    CHECK_THROWS_WITH(write("\xff", good), Contains("is not UTF-8"));
    CHECK_THROWS_WITH(write("x", good, {{"k", "\xc3("}}), Contains("is not UTF-8"));
    CHECK(std::filesystem::is_empty(folder.path()));
    CHECK_THROWS_WITH(write_safetensors(folder.file("no/such.safetensors"), {}), Contains("cannot be written: No such file or directory"));
}

TEST_CASE("a disk that is full leaves the old file as it was") {
    const hpo::tests::TemporaryDirectory folder;
    const auto file = folder.file("a.safetensors");
    write_safetensors(file, Sample{}.tensors());
    const std::string before = content_of(file);
    const std::vector<std::byte> many(1 << 20);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit old{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    const rlimit small{1 << 16, old.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_THROWS_WITH(write_safetensors(file, {{"x", {Dtype::u8, {1 << 20}, many}}}), Contains("cannot be written: File too large"));
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK(content_of(file) == before);
    CHECK(std::distance(std::filesystem::directory_iterator{folder.path()}, {}) == 1);
}

TEST_CASE("a mapped file is read on while another takes its place") {
    const hpo::tests::TemporaryDirectory folder;
    const auto file = folder.file("a.safetensors");
    Sample sample;
    write_safetensors(file, sample.tensors());
    const Weights old = Weights::open(file);
    sample.bytes[0] = 99;
    write_safetensors(file, sample.tensors());
    CHECK(std::to_integer<int>(old.at("bytes").bytes[0]) == 7);
    CHECK(std::to_integer<int>(Weights::open(file).at("bytes").bytes[0]) == 99);
}
