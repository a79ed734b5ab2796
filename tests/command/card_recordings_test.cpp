// SPDX-License-Identifier: MIT
#include "command/card_recordings.hpp"
#include "command/law_confidence.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command/kept_recording.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/base/error.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

using Catch::Contains;
using hpo::allocator::AllocationTrace;
using hpo::tests::TemporaryDirectory;

namespace {

/// What a store keeps between runs.
struct Keeper : hpo::Progress {
    std::map<std::string, std::string> kept;
    bool report(std::int64_t, double) override { return true; }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const hpo::MemoryMark&) override {}
    void log(std::string_view) override {}
    std::optional<std::string> recall(const std::string& key) override {
        const auto found = kept.find(key);
        return found == kept.end() ? std::nullopt : std::optional{found->second};
    }
    void keep(const std::string& key, const std::string& text) override { kept[key] = text; }
};

/// Weights, and for each step and layer an activation of `factor` MiB for each example.
AllocationTrace training(std::int64_t batch, std::int64_t factor, int layers = 1) {
    AllocationTrace trace;
    static_cast<void>(trace.take({.bytes = 64 << 20}));
    for (int step = 0; step < 2; ++step) {
        std::vector<std::int64_t> kept;
        for (int layer = 0; layer < layers; ++layer) kept.push_back(trace.take({.bytes = (factor * batch) << 20}));
        kept.push_back(trace.take({.bytes = 32 << 20}));
        for (const std::int64_t each : kept) trace.give_back(each);
    }
    return trace;
}

/// A recorder that knows a training of each batch up to 64. It notes each recording.
class Recorder {
public:
    Recorder() {
        const std::string script = folder_.path() / "recorder";
        std::ofstream{script} << "#!/bin/sh\ncp '" << folder_.path().string() << "'/trace-\"$6\" \"$2/trace\"\ncp '"
                              << folder_.path().string() << "/told' \"$2/told.json\"\necho \"$6\" >> '" << folder_.path().string()
                              << "/recorded'\n";
        std::filesystem::permissions(script, std::filesystem::perms::owner_all);
        ::setenv("HPO_RECORDER", script.c_str(), 1);
        tells(R"({"torch": "2.11.0", "conf": "", "beside_bytes": 1048576, "unknown": "", "failed": false, "notes": ["a library"]})");
        takes(1);
    }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder() { ::unsetenv("HPO_RECORDER"); }

    void takes(std::int64_t factor, int layers = 1) {
        for (std::int64_t batch = 1; batch <= 64; ++batch)
            hpo::allocator::write_trace(folder_.path() / ("trace-" + std::to_string(batch)), training(batch, factor, layers));
    }
    void tells(const std::string& json) { std::ofstream{folder_.path() / "told"} << json; }
    /// The batches that were recorded, in order.
    [[nodiscard]] std::string recorded() const {
        const auto file = folder_.path() / "recorded";
        return std::filesystem::exists(file) ? hpo::test::read_file(file) : "";
    }

private:
    TemporaryDirectory folder_;
};

hpo::PeakPrediction predict(hpo::command::CardRecordings& recordings, hpo::Progress& progress, std::int64_t batch,
                            const std::string& kind = "a") {
    hpo::TrainerJob job;
    job.params = {{"batch", batch}, {"kind", kind}};
    job.options = {{"arguments", std::string{R"(["train", "{batch}"])"}}};
    job.plan.device = "cuda:0";
    job.cuda_context_bytes = 0;
    return recordings.predict(job, {.words = {"train", std::to_string(batch)}, .environment = {}}, progress);
}

constexpr std::int64_t mib = 1 << 20;

}  // namespace

TEST_CASE("a program is recorded until its recordings foretell the next ones") {
    const Recorder recorder;
    Keeper keeper;
    hpo::command::CardRecordings recordings;
    for (const std::int64_t batch : {8, 40, 16, 32, 24, 48}) {
        const hpo::PeakPrediction told = predict(recordings, keeper, batch);
        CHECK(told.requested_bytes == (64 + batch + 32) * mib);
        CHECK(told.source == hpo::PeakSource::virtual_card);
    }
    CHECK(recorder.recorded() == "8\n40\n16\n32\n");
    CHECK(predict(recordings, keeper, 48).remark ==
          "from 4 recordings of the program on a virtual card; the context is taken to be 0 bytes; not counted: a library");
    CHECK(predict(recordings, keeper, 8).remark ==
          "the program was recorded on a virtual card; the context is taken to be 0 bytes; not counted: a library");
    predict(recordings, keeper, 8, "b");
    CHECK(recorder.recorded() == "8\n40\n16\n32\n8\n");  // another kind may be another program
}

TEST_CASE("more sizes need more recordings, since a few may agree by chance") {
    CHECK(hpo::command::least_recordings(1) == 4);
    CHECK(hpo::command::least_recordings(3) == 6);
    CHECK(hpo::command::least_recordings(8) == 6);
    const Recorder recorder;
    Keeper keeper;
    hpo::command::CardRecordings recordings;
    hpo::TrainerJob job;
    job.plan.device = "cuda:0";
    job.cuda_context_bytes = 0;
    for (const std::int64_t batch : {8, 40, 16, 32, 24, 48, 20}) {
        job.params = {{"batch", batch}, {"unused", 100 + 7 * batch % 11}};
        const auto told = recordings.predict(job, {.words = {"train", std::to_string(batch)}, .environment = {}}, keeper);
        CHECK(told.requested_bytes == (64 + batch + 32) * mib);
    }
    CHECK(recorder.recorded() == "8\n40\n16\n32\n24\n");
}

TEST_CASE("a later run uses recordings of an earlier one once it saw that the program is the same") {
    Recorder recorder;
    Keeper keeper;
    hpo::command::CardRecordings first;
    for (const std::int64_t batch : {8, 40, 16, 32}) predict(first, keeper, batch);
    REQUIRE(recorder.recorded() == "8\n40\n16\n32\n");

    SECTION("it is the same") {
        hpo::command::CardRecordings later;
        predict(later, keeper, 12);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n");
        const hpo::PeakPrediction told = predict(later, keeper, 48);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n");
        CHECK(told.requested_bytes == (64 + 48 + 32) * mib);
        CHECK(told.remark.starts_with("from 5 recordings of the program on a virtual card, 4 of them of an earlier run"));
        hpo::command::CardRecordings third;  // a recording that was seen before tells as well that it is the same
        predict(third, keeper, 12);
        predict(third, keeper, 48);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n12\n");
    }
    SECTION("it was changed") {
        recorder.takes(3);
        hpo::command::CardRecordings later;
        for (const std::int64_t batch : {12, 40, 16, 32, 48})
            CHECK(predict(later, keeper, batch).requested_bytes == (64 + 3 * batch + 32) * mib);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n40\n16\n32\n");
        hpo::command::CardRecordings third;  // it recalls none of the first run
        predict(third, keeper, 24);
        CHECK(predict(third, keeper, 48).requested_bytes == (64 + 3 * 48 + 32) * mib);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n40\n16\n32\n24\n");
    }
    SECTION("it takes more beside PyTorch") {
        recorder.tells(
            R"({"torch": "2.11.0", "conf": "", "beside_bytes": 2147483648, "unknown": "", "failed": false, "notes": ["a library"]})");
        hpo::command::CardRecordings later;
        CHECK(predict(later, keeper, 8).need > 2048 * mib);
        CHECK(predict(later, keeper, 48).need > 2048 * mib);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n8\n48\n");
    }
    SECTION("it runs on another version of PyTorch") {
        recorder.tells(R"({"torch": "2.10.0", "conf": "", "beside_bytes": 0, "unknown": "", "failed": false, "notes": []})");
        hpo::command::CardRecordings later;
        predict(later, keeper, 12);
        predict(later, keeper, 48);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n48\n");
    }
    SECTION("what is kept is damaged") {
        for (auto& [key, text] : keeper.kept) text.erase(text.size() / 2, 1);
        hpo::command::CardRecordings later;
        predict(later, keeper, 12);
        predict(later, keeper, 48);
        CHECK(recorder.recorded() == "8\n40\n16\n32\n12\n48\n");
    }
}

TEST_CASE("each number of layers has recordings of its own, once it is seen that it changes the number of blocks") {
    Recorder recorder;
    Keeper keeper;
    const auto need_of = [&](hpo::command::CardRecordings& recordings, std::int64_t batch, std::int64_t layers) {
        hpo::TrainerJob job;
        job.params = {{"batch", batch}, {"layers", layers}};
        job.plan.device = "cuda:0";
        job.cuda_context_bytes = 0;
        recorder.takes(1, static_cast<int>(layers));
        return recordings.predict(job, {.words = {"train", std::to_string(batch)}, .environment = {}}, keeper).requested_bytes / mib;
    };
    hpo::command::CardRecordings recordings;
    for (const auto& [batch, layers] :
         std::vector<std::pair<int, int>>{{8, 2}, {40, 12}, {16, 2}, {24, 12}, {32, 2}, {20, 2}, {48, 2}, {36, 12}, {10, 12}, {48, 12}})
        CHECK(need_of(recordings, batch, layers) == 64 + layers * batch + 32);
    CHECK(recorder.recorded() == "8\n40\n16\n24\n32\n20\n36\n10\n");
    hpo::command::CardRecordings later;
    for (const auto& [batch, layers] : std::vector<std::pair<int, int>>{{12, 2}, {48, 2}, {12, 12}, {30, 12}})
        CHECK(need_of(later, batch, layers) == 64 + layers * batch + 32);
    CHECK(recorder.recorded() == "8\n40\n16\n24\n32\n20\n36\n10\n12\n12\n");
}

TEST_CASE("a program that cannot be recorded is not recorded again and again") {
    Recorder recorder;
    Keeper keeper;
    hpo::command::CardRecordings recordings;
    recorder.tells(R"({"error": "it has no PyTorch"})");
    for (int i = 0; i < 4; ++i) CHECK_THROWS_WITH(predict(recordings, keeper, 8 + i), Contains("it has no PyTorch"));
    CHECK(recorder.recorded() == "8\n9\n");
    CHECK(keeper.kept.empty());
}

TEST_CASE("a recording is kept as text") {
    hpo::command::ProgramRecording recording{
        .series = 7, .numbers = {8, 0.5}, .torch = "2.11.0", .conf = "backend:native", .beside_bytes = 3, .notes = {"a \"note\""}};
    recording.trace = training(8, 1);
    CHECK_FALSE(hpo::command::recording_of(hpo::command::text_of(recording))->error);
    recording.error = 0.25;
    const std::string text = hpo::command::text_of(recording);
    const auto again = hpo::command::recording_of(text);
    REQUIRE(again);
    CHECK(again->series == 7);
    CHECK(again->numbers == recording.numbers);
    CHECK(again->torch == recording.torch);
    CHECK(again->conf == recording.conf);
    CHECK(again->beside_bytes == 3);
    CHECK(again->notes == recording.notes);
    CHECK(again->error == recording.error);
    CHECK(again->trace == recording.trace);
    for (const std::string& bad : {std::string{}, std::string{"{}"}, text.substr(0, text.size() - 1), std::string{"[1]"}})
        CHECK_FALSE(hpo::command::recording_of(bad));
}
