// SPDX-License-Identifier: MIT
#include "hpo/device/shared_record.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::device::RecordKind;
using hpo::device::SharedRecord;

namespace {

struct Count {
    std::int64_t count = 0;
};

RecordKind kind() {
    RecordKind kind{77, "a count"};
    kind.patience = std::chrono::milliseconds{50};
    return kind;
}

}  // namespace

TEST_CASE("a record that is locked for ever, as a damaged file is, is an error that names it") {
    const hpo::tests::TemporaryDirectory folder;
    const auto file = folder.path("count");
    {
        CHECK(SharedRecord<Count>{file, kind()}.with([](Count& content) { return ++content.count; }) == 1);
    }
    std::fstream damaged{file, std::ios::in | std::ios::out | std::ios::binary};
    damaged.seekp(sizeof(std::uint64_t));  // the mutex, after the layout
    const std::int32_t nobody = 999999;
    damaged.write(reinterpret_cast<const char*>(&nobody), sizeof nobody);
    damaged.close();
    const SharedRecord<Count> record{file, kind()};
    const auto use = [&] { return record.with([](Count& content) { return ++content.count; }); };
    CHECK_THROWS_WITH(use(), Catch::Contains("count: locked for 0 s: its holder is stopped, or the file is damaged; remove it when no"));
    CHECK_THROWS(use());
}
