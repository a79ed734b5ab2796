// SPDX-License-Identifier: MIT
#include "hpo/trainer/prediction_key.hpp"

#include <chrono>
#include <fstream>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;

namespace {

TrainerInfo info() {
    TrainerInfo info;
    info.name = "t";
    info.libtorch_version = "2.0";
    info.effective_batch_parameter = "batch";
    info.parameters = {{"width", "int", "", std::int64_t{8}, ""},
                       {"dropout", "float", "", 0.1, "", MemoryUse::whether_zero},
                       {"epochs", "int", "", std::int64_t{3}, "", MemoryUse::whether_above_one},
                       {"accumulated", "int", "", std::int64_t{2}, "", MemoryUse::whether_above_one},
                       {"lr", "float", "", 0.1, "", MemoryUse::none},
                       {"batch", "int", "", std::int64_t{64}, ""},
                       {"data", "text", "", std::string{}, ""}};
    return info;
}

std::string key_of(const TrainerJob& job, const std::string& build = "b", PeakSource source = PeakSource::dry_run) {
    FileStamps files;
    return prediction_key(info(), {.build = build, .processor = "p", .threads = 2}, job, source, files);
}
std::string with(const std::string& name, Value value) {
    TrainerJob job;
    job.params[name] = std::move(value);
    return key_of(job);
}
std::string under(std::int64_t effective, std::int64_t micro) {
    TrainerJob job;
    job.params["batch"] = effective;
    job.plan.effective_batch = effective;
    job.plan.micro_batch = micro;
    return key_of(job);
}

}  // namespace

TEST_CASE("a key tells apart what takes memory, and nothing else") {
    const std::string standard = key_of({});
    CHECK(with("width", std::int64_t{8}) == standard);
    CHECK(with("width", std::int64_t{9}) != standard);
    CHECK(with("dropout", 0.5) == standard);
    CHECK(with("dropout", 0.0) != standard);
    CHECK(with("epochs", std::int64_t{9}) == standard);
    CHECK(with("epochs", std::int64_t{1}) != standard);
    CHECK(with("lr", 7.0) == standard);
    CHECK(with("unheard_of", 7.0) != standard);
    CHECK(key_of({}, "c") != standard);
    CHECK(key_of({}, "b", PeakSource::probe) != standard);
    TrainerJob options;
    options.options["width"] = std::int64_t{9};
    CHECK(key_of(options) == with("width", std::int64_t{9}));
}

TEST_CASE("all parameters of a program's study count, also those that are called as an option of its trainer") {
    TrainerInfo program = info();
    program.open_ended = true;
    program.effective_batch_parameter.clear();
    const auto key = [&](const Values& params, const Values& options = {}) {
        TrainerJob job;
        job.params = params;
        job.options = options;
        FileStamps files;
        return prediction_key(program, {.build = "b", .processor = "p", .threads = 2}, job, PeakSource::virtual_card, files);
    };
    for (const std::string name : {"lr", "batch", "dropout", "unheard_of"}) {
        CAPTURE(name);
        CHECK(key({{name, 0.25}}) != key({{name, 0.5}}));
        CHECK(key({{name, 0.25}}) == key({{name, 0.25}}));
    }
    CHECK(key({}, {{"lr", 0.25}}) == key({}, {{"lr", 0.5}}));
    CHECK(key({}, {{"width", 0.25}}) != key({{"width", 0.25}}));
}

TEST_CASE("of the plan count what is in memory at once, the whole batch, the kind of device and its levers") {
    CHECK(under(64, 8) == under(64, 8));
    CHECK(under(64, 8) != under(128, 8));  // of 100 examples the second has one step an epoch
    CHECK(under(64, 8) != under(64, 16));
    CHECK(under(8, 8) != under(64, 8));
    CHECK(under(60, 8) != under(64, 8));  // the last micro-batch is short
    TrainerJob job;
    const std::string plain = key_of(job);
    job.plan.cap_bytes = 5;
    job.seed = 9;
    job.trial = 4;
    CHECK(key_of(job) == plain);
    job.plan.precision = Precision::bf16;
    CHECK(key_of(job) != plain);
    job.plan = {};
    job.plan.device = "cuda:0";
    const std::string first = key_of(job);
    job.plan.device = "cuda:1";
    CHECK(key_of(job) == first);
    CHECK(first != plain);
}

TEST_CASE("on the CPU a key tells processors apart, and threads where the job leaves them to the worker") {
    FileStamps files;
    const auto key_by = [&](const TrainerJob& job, const std::string& processor, int threads) {
        TrainerInfo with_threads = info();
        with_threads.parameters.push_back({"threads", "int", "", std::int64_t{0}, ""});
        return prediction_key(with_threads, {.build = "b", .processor = processor, .threads = threads}, job, PeakSource::probe, files);
    };
    TrainerJob job;
    CHECK(key_by(job, "p", 2) != key_by(job, "q", 2));
    CHECK(key_by(job, "p", 2) != key_by(job, "p", 4));
    job.options["threads"] = std::int64_t{3};
    CHECK(key_by(job, "p", 2) == key_by(job, "p", 4));
    job.options.clear();
    job.plan.device = "cuda:0";
    CHECK(key_by(job, "p", 2) == key_by(job, "q", 4));
}

TEST_CASE("repetitions count by whether there are any, and each by its number where another is only one") {
    const auto key = [](std::int64_t epochs, std::int64_t accumulated) {
        TrainerJob job;
        job.options["epochs"] = epochs;
        job.params["accumulated"] = accumulated;
        return key_of(job);
    };
    CHECK(key(3, 2) == key(9, 8));
    CHECK(key(1, 2) != key(1, 8));  // the second may be one step, which is less than two
    CHECK(key(3, 1) != key(3, 2));
    CHECK(key(1, 2) != key(3, 2));
}

TEST_CASE("cuBLAS's workspace counts where there is one") {
    TrainerJob job;
    const std::string plain = key_of(job);
    job.cublas_workspace_bytes = 4096;
    CHECK(key_of(job) == plain);
    job.plan.device = "cuda";
    const std::string cuda = key_of(job);
    job.cublas_workspace_bytes.reset();
    CHECK(key_of(job) != cuda);
}

TEST_CASE("the context counts for CUDA, and the card where a virtual one predicts") {
    const TrainerInfo info;
    FileStamps files;
    const auto key = [&](const TrainerJob& job, PeakSource source, const std::string& card) {
        return prediction_key(info, Predictor{.build = {}, .processor = {}, .card = card}, job, source, files);
    };
    TrainerJob job;
    job.plan.device = "cuda";
    TrainerJob with_context = job;
    with_context.cuda_context_bytes = 8192;
    CHECK(key(job, PeakSource::dry_run, "") != key(with_context, PeakSource::dry_run, ""));
    CHECK(key(job, PeakSource::dry_run, "name=T4") == key(job, PeakSource::dry_run, "name=L4"));
    CHECK(key(job, PeakSource::virtual_card, "name=T4") != key(job, PeakSource::virtual_card, "name=L4"));
    job.plan.device = with_context.plan.device = "cpu";
    CHECK(key(job, PeakSource::dry_run, "") == key(with_context, PeakSource::dry_run, ""));
}

TEST_CASE("a file that changes while predictions are made is seen, a folder within a second") {
    const tests::TemporaryDirectory folder;
    const auto file = folder.path() / "data.csv";
    FileStamps files;
    std::ofstream{file} << "one";
    const std::string one = files.of(file.string());
    std::ofstream{file} << "three";
    CHECK(files.of(file.string()) != one);
    const std::string before = files.of(folder.path().string());
    std::ofstream{folder.path() / "more.csv"} << "more";
    CHECK(hpo::test::eventually([&] { return files.of(folder.path().string()) != before; }));
}

TEST_CASE("files and folders that settings name count by their size and time") {
    const tests::TemporaryDirectory folder;
    const auto file = folder.path() / "data.csv";
    TrainerJob job;
    job.options["data"] = folder.path().string();
    const std::string empty = key_of(job);
    std::ofstream{file} << "one";
    const std::string one = key_of(job);
    std::ofstream{file} << "three";
    CHECK(one != empty);
    CHECK(key_of(job) != one);
    const std::string three = key_of(job);
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds{1});
    CHECK(key_of(job) != three);  // as long, written later
    CHECK(FileStamps::stamp(file.string() + ".missing").empty());
}
