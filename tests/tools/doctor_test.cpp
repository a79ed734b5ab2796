// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

CommandResult doctor(const Workshop& workshop, const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> all;
    if (!environment.empty()) {
        all.emplace_back("/usr/bin/env");
        all.insert(all.end(), environment.begin(), environment.end());
    }
    all.insert(all.end(), {tool("hpo-tune"), "doctor"});
    all.insert(all.end(), words.begin(), words.end());
    return run_command(workshop, all);
}

json finding(const json& all, const std::string& what) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const json& each) { return each["what"] == what; });
    CAPTURE(all.dump(), what);
    REQUIRE(found != all.end());
    return *found;
}

}  // namespace

TEST_CASE("doctor says what room there is for a long study") {
    const Workshop workshop;
    const json found = json::parse(doctor(workshop, {"--json"}).out);
    CHECK(finding(found, "shared memory")["detail"].get<std::string>().find("in /dev/shm") != std::string::npos);
    CHECK(finding(found, "disk")["detail"].get<std::string>().find(" free of ") != std::string::npos);
    CHECK_FALSE(finding(found, "open files")["detail"].get<std::string>().empty());
    CHECK(std::none_of(found.begin(), found.end(), [](const json& each) { return each.contains("seconds"); }));  // nothing was measured
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}

TEST_CASE("doctor tells that a process may open few files") {
    const Workshop workshop;
    const auto few = run_command(workshop, {"/bin/sh", "-c", "ulimit -n 100; exec \"$0\" doctor", tool("hpo-tune")});
    CHECK_THAT(few.out, Contains("note  open files: 100 for a process, at most 100; many workers may need 1024: ulimit -n 1024"));
}

TEST_CASE("doctor refuses what is no device, and a trainer that is not there") {
    const Workshop workshop;
    const auto wrong = doctor(workshop, {"--device", "tpu"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--device: got 'tpu'; expected cpu, cuda or cuda:N"));
    const auto unknown = doctor(workshop, {"--device", "cpu", "--trainer", "quadratik"});
    CHECK(unknown.status == 2);
    CHECK_THAT(unknown.error, Contains(did_you_mean("quadratic")));
}

TEST_CASE("a device that cannot be measured is a bad finding with the reason") {
    const Workshop workshop;
    const auto none = doctor(workshop, {"--device", "cpu", "--trainer", "quadratic"});
    CHECK(none.status == 1);
    CHECK_THAT(none.out, Contains("BAD   measurement of cpu: trainer quadratic measures no device"));
}

TEST_CASE("doctor names the processes that hold memory of a card, before it measures") {
    const Workshop workshop;
    std::filesystem::create_directory(workshop.path("driver"));
    std::filesystem::create_symlink(HPO_FAKE_NVML, workshop.path("driver/libnvidia-ml.so.1"));
    const auto seen =
        doctor(workshop, {"--device", "cuda:1", "--trainer", "cuda_fault", "--plugin-dir", HPO_BINARY_DIR "/tests/cuda_trainers"},
               {"-u", "CUDA_VISIBLE_DEVICES", "-u", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH=" + workshop.path("driver").string()});
    INFO(seen.out);
    CHECK(seen.status == 1);  // this trainer cannot measure
    CHECK_THAT(seen.out, Contains("others on cuda:1: ") && Contains("BAD   measurement of cuda:1: trainer cuda_fault measures no device"));
    const auto first =
        doctor(workshop, {"--device", "cuda:0", "--trainer", "cuda_fault", "--plugin-dir", HPO_BINARY_DIR "/tests/cuda_trainers"},
               {"-u", "CUDA_VISIBLE_DEVICES", "-u", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH=" + workshop.path("driver").string()});
    INFO(first.out);
    CHECK_THAT(first.out, Contains("note  others on cuda:0: 3.50 GiB of ") && Contains("99 other processes hold 1.55 GiB: ") &&
                              Contains("(pid 1000) 16.00 MiB"));
}

#ifdef HPO_HAS_IMAGE_CLASSIFIER
TEST_CASE("doctor measures the CPU with the trainer's LibTorch: memory, products, sums, copies, a refusal") {
    const Workshop workshop;
    const auto measured = doctor(workshop, {"--device", "cpu", "--trainer", "image_classifier", "--json"});
    INFO(measured.out);
    const json found = json::parse(measured.out);
    for (const std::string what : {"runtime", "allocation", "copy", "product", "reduction", "refusal", "release"}) {
        const json each = finding(found, "cpu " + what);
        CAPTURE(each.dump());
        CHECK(each["level"] == "ok");
        if (what != "runtime" && what != "refusal") CHECK(each["seconds"].get<double>() > 0);
    }
    const json allocation = finding(found, "cpu allocation");
    CHECK(allocation["bytes"].get<std::int64_t>() % (2 << 20) == 0);
    CHECK_THAT(allocation["detail"].get<std::string>(), Contains("less free"));
    CHECK(finding(found, "others on cpu")["level"] == "ok");
}
#endif
