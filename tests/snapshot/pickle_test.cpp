// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/pickle.hpp"
#include "snapshot/pickle_writer.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;
using hpo::tests::PickleWriter;
using hpo::tests::Plain;

namespace {

PickledData read(const std::string& bytes) { return PickleReader{{bytes, "f"}}.read(); }
std::string error_of(const std::string& bytes) {
    try {
        static_cast<void>(read(bytes));
    } catch (const hpo::Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("plain data comes back from each protocol") {
    for (const int protocol : {2, 3, 4, 5}) {
        CAPTURE(protocol);
        const Plain plain = Plain::tabled({{"small", Plain::of(std::int64_t{7})},
                                           {"two", Plain::of(std::int64_t{300})},
                                           {"four", Plain::of(std::int64_t{-70000})},
                                           {"eight", Plain::of(std::int64_t{1} << 61)},
                                           {"text", Plain::of(std::string(300, 'x'))},
                                           {"yes", Plain::yes(true)},
                                           {"none", Plain{}},
                                           {"pair", Plain::tupled({Plain::of(std::int64_t{0}), Plain::of(std::int64_t{1})})}});
        const PickledData data = read(PickleWriter{protocol}.write(plain));
        const auto at = [&](const char* key) { return data.find(data.root(), key).value(); };
        CHECK(data.integer(at("small")) == 7);
        CHECK(data.integer(at("two")) == 300);
        CHECK(data.integer(at("four")) == -70000);
        CHECK(data.natural(at("four")) == std::nullopt);
        CHECK(data.integer(at("eight")) == std::int64_t{1} << 61);
        CHECK(data.text(at("text")) == std::string(300, 'x'));
        CHECK(data.boolean(at("yes")) == true);
        CHECK(at("none").kind() == PickleValue::Kind::none);
        CHECK(data.list(at("pair")).size() == 2);
        CHECK(data.find(data.root(), "absent") == std::nullopt);
    }
}

// Written by Python 3.11: pickle.dumps(value, protocol).
TEST_CASE("what Python pickled is read as it was") {
    using namespace std::string_literals;
    // [1.5, -1, 2**64 - 1, -2**63, 10**30, 'é', (1, 2, 3), {1}, True], protocol 4
    const std::string bytes =
        "\x80\x04\x95\x4c\x00\x00\x00\x00\x00\x00\x00\x5d\x94\x28\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x4a\xff\xff\xff\xff"
        "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"
        "\x8a\x0d\x00\x00\x00\x40\xea\xed\x74\x46\xd0\x9c\x2c\x9f\x0c\x8c\x02\xc3\xa9\x94\x4b\x01\x4b\x02\x4b\x03\x87\x94"
        "\x8f\x94\x28\x4b\x01\x90\x88\x65\x2e"s;
    const PickledData data = read(bytes);
    const auto list = data.list(data.root());
    REQUIRE(list.size() == 9);
    CHECK(data.real(list[0]) == 1.5);
    CHECK(data.integer(list[1]) == -1);
    CHECK(data.natural(list[2]) == ~std::uint64_t{0});
    CHECK(data.integer(list[2]) == std::nullopt);
    CHECK(data.integer(list[3]) == INT64_MIN);
    CHECK(data.integer(list[4]) == std::nullopt);
    CHECK(data.natural(list[4]) == std::nullopt);
    CHECK(data.text(list[5]) == "é");
    CHECK(data.list(list[6]).size() == 3);
    CHECK(data.list(list[7]).size() == 1);
    CHECK(data.boolean(list[8]) == true);
}

TEST_CASE("an object, a function or a module is never made") {
    using namespace std::string_literals;
    // os.system('true') in the protocols 2 and 4
    CHECK(error_of("\x80\x02"
                   "cos\nsystem\nX\x04\x00\x00\x00true\x85R."s) ==
          "f: byte 2: damaged pickle: it holds a Python object, which is never made: a memory snapshot has plain data only");
    CHECK(error_of("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R."s).find("never made") != std::string::npos);
}

TEST_CASE("what is no whole pickle of a protocol that is read is one error") {
    using namespace std::string_literals;
    CHECK(error_of("") == "f: empty; expected the pickle that torch.cuda.memory._dump_snapshot() writes");
    CHECK(error_of("\n{\"segments\": []}") == "f: JSON; expected the pickle that torch.cuda.memory._dump_snapshot() writes");
    CHECK(error_of("\x1f\x8b\x08"s).find("f: packed by gzip") == 0);
    CHECK(error_of(std::string(1 << 20, '\0')).find("not a pickle") != std::string::npos);
    CHECK(error_of("\x80\x06."s).find("a pickle of protocol 6; 2 to 5 can be read") != std::string::npos);
    CHECK(error_of("\x80\x04"s).find("cut off") != std::string::npos);
    CHECK(error_of("\x80\x04\x8c\xff"
                   "abc"s)
              .find("cut off") != std::string::npos);
    CHECK(error_of("\x80\x04]e."s).find("no beginning") != std::string::npos);
    CHECK(error_of("\x80\x04K\x01K\x02s."s).find("no dictionary") != std::string::npos);
    CHECK(error_of("\x80\x04}(K\x01u."s).find("a key without a value") != std::string::npos);
    CHECK(error_of("\x80\x04h\x05."s).find("never remembered") != std::string::npos);
    CHECK(error_of("\x80\x04r\xff\xff\xff\xff."s).find("where there is none") != std::string::npos);
    CHECK(error_of("\x80\x04]r\xff\xff\xff\xff."s).find("of fewer") != std::string::npos);
    CHECK(error_of("\x80\x04\x95"s).find("cut off") != std::string::npos);
    CHECK(error_of("\x80\x04\xfa."s).find("unknown instruction 250") != std::string::npos);
    CHECK(error_of("\x80\x04I1\n."s).find("protocol 0") != std::string::npos);
}

TEST_CASE("bombs end in an error before they take memory") {
    std::string containers = "\x80\x04";
    containers.append(std::size_t{32} << 20U, '}');
    CHECK(error_of(containers).find("more memory than is allowed") != std::string::npos);
    std::string nested = "\x80\x04";
    for (int i = 0; i < 200'000; ++i) nested += "](";
    CHECK(error_of(nested).find("cut off") != std::string::npos);
    // A list of a list of itself, doubled: the memo makes no copies.
    std::string doubled = "\x80\x04]\x94";
    for (int i = 0; i < 1000; ++i) doubled += "(h" + std::string(1, '\0') + "h" + std::string(1, '\0') + "e";
    CHECK(read(doubled + ".").containers() == 1);
}
