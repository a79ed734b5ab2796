// SPDX-License-Identifier: MIT
#include "hpo/weights/weights.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "weights/write_safetensors.hpp"

using namespace hpo::weights;
using Catch::Contains;
using Catch::EndsWith;

namespace {

const std::vector<std::byte> some_bytes{std::byte{1}, std::byte{2}};

/// Two shards, a and b in the first, c in the second.
struct Shards {
    hpo::tests::TemporaryDirectory folder;
    Shards() {
        write("one.safetensors", {"a", "b"});
        write("two.safetensors", {"c"});
        index(R"({"metadata":{"total_size":6},"weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"}})");
    }
    void write(const std::string& file, const std::vector<std::string>& names) const {
        TensorMap tensors;
        for (const std::string& name : names) tensors[name] = {Dtype::f16, {1}, some_bytes};
        write_safetensors(folder.file(file), tensors, {{"format", "pt"}});
    }
    void index(const std::string& text) const { std::ofstream{folder.file("model.safetensors.index.json")} << text; }
    void are_refused(const std::string& what) const { CHECK_THROWS_WITH(Weights::open(folder.path()), Contains(what) && !Contains("\n")); }
};

}  // namespace

TEST_CASE("shards are one set of weights") {
    const Shards shards;
    const Weights weights = Weights::open(shards.folder.path());
    CHECK(weights.tensors().size() == 3);
    CHECK(weights.at("c").bytes.size() == 2);
    CHECK(weights.metadata() == Metadata{{"format", "pt"}});
    CHECK(Weights::open(shards.folder.file("model.safetensors.index.json")).tensors().size() == 3);
}

TEST_CASE("a folder's single file is preferred to its index") {
    const Shards shards;
    shards.write("model.safetensors", {"only"});
    CHECK(Weights::open(shards.folder.path()).find("only") != nullptr);
}

TEST_CASE("an index and shards that do not agree are refused with file and tensor") {
    SECTION("a shard is missing") {
        const Shards shards;
        std::filesystem::remove(shards.folder.file("two.safetensors"));
        shards.are_refused("model.safetensors.index.json: weight_map: tensor 'c' is in 'two.safetensors', which is missing");
    }
    SECTION("a shard lacks what the index promises") {
        const Shards shards;
        shards.write("one.safetensors", {"a"});
        shards.are_refused("one.safetensors: lacks tensor 'b' that ");
    }
    SECTION("a shard has more than the index places there") {
        const Shards shards;
        shards.write("two.safetensors", {"a", "c"});
        shards.are_refused("two.safetensors: has tensor 'a', which ");
    }
    SECTION("a shard is damaged") {
        const Shards shards;
        std::filesystem::resize_file(shards.folder.file("two.safetensors"), 20);
        shards.are_refused("two.safetensors: cut short: 20 bytes");
    }
    SECTION("the index is no index") {
        const Shards shards;
        for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
                 {"", "not JSON"},
                 {"[]", "weight_map: expected an object"},
                 {"{}", "weight_map: expected an object"},
                 {R"({"weight_map":{}})", "weight_map: expected an object"},
                 {R"({"weight_map":{"a":1}})", "weight_map: tensor 'a': expected a file's name"},
                 {R"({"weight_map":{"a":"x","a":"y"}})", "'weight_map': has 'a' twice"},
                 {R"({"weight_map":{"a":"../one.safetensors"}})", "expected the name of a file beside the index"},
                 {R"({"weight_map":{"a":"/etc/passwd"}})", "expected the name of a file beside the index"},
                 {R"({"weight_map":{"a":".."}})", "expected the name of a file beside the index"},
                 {R"({"weight_map":{"a":""}})", "expected the name of a file beside the index"}}) {
            shards.index(text);
            shards.are_refused(what);
        }
    }
}

TEST_CASE("a path without weights is refused and says what was expected") {
    const hpo::tests::TemporaryDirectory folder;
    CHECK_THROWS_WITH(Weights::open(folder.path()), EndsWith("no weights; expected model.safetensors or model.safetensors.index.json"));
    std::ofstream{folder.file("pytorch_model.bin")} << "x";
    CHECK_THROWS_WITH(Weights::open(folder.path()), EndsWith("(pytorch_model.bin is not read: convert it)"));
    CHECK_THROWS_WITH(Weights::open(folder.file("none.safetensors")), EndsWith("none.safetensors: No such file or directory"));
    CHECK_THROWS_WITH(Weights::open("/dev/null"), EndsWith("not a regular file"));
    std::ofstream{folder.file("empty.safetensors")};
    CHECK_THROWS_WITH(Weights::open(folder.file("empty.safetensors")), Contains("empty.safetensors: cut short: 0 bytes"));
}
