// SPDX-License-Identifier: MIT
#include "hpo/trainer/plugin_loader.hpp"

#include "hpo/trainer/plugin.hpp"

#include <unistd.h>

#include <fstream>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "trainer/plugin_trainer.hpp"

namespace {

const std::filesystem::path good = HPO_BINARY_DIR "/tests/trainers";
const std::filesystem::path bad = HPO_BINARY_DIR "/tests/bad_trainers";

std::string refusal(const std::string& name, const hpo::PluginFolders& folders = {bad}) {
    try {
        static_cast<void>(hpo::load_trainer(name, folders));
    } catch (const hpo::Error& error) {
        CHECK(error.code() == hpo::Errc::plugin);
        return error.what();
    }
    return "accepted";
}

struct Watcher final : hpo::Progress {
    bool report(std::int64_t step, double value) override {
        steps.push_back(step);
        values.push_back(value);
        return steps.size() < stop_after;
    }
    bool stop_requested() const override { return steps.size() >= stop_after; }
    void memory(const hpo::MemoryMark& mark) override { marks.push_back(mark); }
    void log(std::string_view line) override { lines.emplace_back(line); }
    void checkpointed(std::int64_t step) override { checkpoints.push_back(step); }
    void tell(std::string_view json) override { told.emplace_back(json); }
    std::vector<std::int64_t> steps;
    std::vector<double> values;
    std::vector<hpo::MemoryMark> marks;
    std::vector<std::string> lines;
    std::vector<std::string> told;
    std::vector<std::int64_t> checkpoints;
    std::size_t stop_after = 1000;
};

}  // namespace

TEST_CASE("a plugin is found by name, loaded and asked") {
    const auto trainer = hpo::load_trainer("fault", {"/nonexistent", good});
    CHECK(trainer->info().name == "fault");
    CHECK(trainer->info().parameters.size() == 8);
    hpo::TrainerJob job;
    job.params["x"] = 0.5;
    Watcher watcher;
    const auto outcome = trainer->run(job, watcher);
    CHECK(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(outcome.values == std::vector{(0.5 - 0.3) * (0.5 - 0.3)});
    CHECK(trainer->profile(job)->weight_bytes == 8);
    CHECK(trainer->check(job).empty());
    job.params["lr"] = 1.0;
    REQUIRE(trainer->check(job).size() == 1);
    CHECK_THAT(trainer->check(job)[0].what, Catch::Contains("unknown parameter 'lr'"));
    CHECK_THROWS_WITH(trainer->profile(job), Catch::Contains("unknown parameter 'lr'"));
}

TEST_CASE("a plugin that the source tree has and nobody built is named with the command that builds it") {
    const hpo::tests::TemporaryDirectory tree;
    const auto trainers = tree.path("build/release/lib/hpo/trainers");
    std::filesystem::create_directories(trainers);
    std::filesystem::create_directories(tree.path("plugins/image_classifier"));
    std::ofstream{tree.path("plugins/image_classifier/CMakeLists.txt")} << "\n";
    std::ofstream{tree.path("build/release/CMakeCache.txt")} << "A:BOOL=ON\nCMAKE_HOME_DIRECTORY:INTERNAL=" << tree.path().string() << "\n";
    CHECK_THAT(refusal("image_classifier", {"/nonexistent", trainers}),
               Catch::Contains("; it is not built yet: cmake --build " + tree.path("build/release").string() +
                               " --target hpo_trainer_image_classifier; known:"));
    CHECK_THAT(refusal("image_classifer", {trainers}), !Catch::Contains("cmake"));
    CHECK_THAT(refusal("image_classifier", {good}), !Catch::Contains(tree.path().string()));
}

TEST_CASE("reports and stops cross the border") {
    const auto trainer = hpo::load_trainer("fault", {good});
    hpo::TrainerJob job;
    job.params["steps"] = std::int64_t{10};
    Watcher watcher;
    watcher.stop_after = 4;
    CHECK(trainer->run(job, watcher).kind == hpo::OutcomeKind::stopped);
    CHECK(watcher.steps == std::vector<std::int64_t>{0, 1, 2, 3});
    CHECK(watcher.values[0] == 0.3 * 0.3 + 1.0);
    job.options["fault"] = std::string{"big_report"};
    watcher.stop_after = 1000;
    CHECK(trainer->run(job, watcher).attributes.at("big").size() > 1 << 20);
    REQUIRE(watcher.marks.size() == 1);
    CHECK(watcher.marks[0].name.size() == 1 << 20);
}

TEST_CASE("a long profile is stopped across the border") {
    const auto trainer = hpo::load_trainer("fault", {good});
    hpo::TrainerJob job;
    Watcher watcher;
    CHECK(trainer->stoppable_profile(job, watcher)->weight_bytes == 8);
    job.params["profile_seconds"] = 3600.0;
    watcher.stop_after = 0;
    CHECK_FALSE(trainer->stoppable_profile(job, watcher));
    CHECK(trainer->stoppable_check(job, watcher).empty());
}

TEST_CASE("a question that a plugin does not know is answered with an error that names it") {
    Watcher watcher;
    for (const auto& file : {good / "libhpo_trainer_fault.so", bad / "libhpo_trainer_older_entry.so"}) {
        const hpo::PluginTrainer trainer{hpo::load_plugin(file)};
        CHECK_THROWS_WITH(trainer.ask("best_colour", {}, watcher), Catch::Contains("ask: unknown question 'best_colour'"));
    }
}

TEST_CASE("a plugin that evaluates no saved models says so, also one that has never heard of them") {
    Watcher watcher;
    const auto now = hpo::load_trainer("fault", {good})->evaluate({.saved_model = "/tmp"}, watcher);
    REQUIRE(now.failure);
    CHECK(now.failure->message == "trainer fault saves no models and evaluates none");
    const auto before = hpo::load_trainer("older_entry", {bad})->evaluate({.saved_model = "/tmp"}, watcher);
    REQUIRE(before.failure);
    CHECK_THAT(before.failure->message, Catch::Contains("unknown question 'evaluate'"));
}

TEST_CASE("a plugin of an older version of the same ABI is taken, with null for what it lacks") {
    const auto entry = hpo::load_plugin(bad / "libhpo_trainer_older_entry.so");
    CHECK(entry.run);
    CHECK_FALSE(entry.profile);
    CHECK_FALSE(entry.check);
    CHECK_FALSE(entry.ask);
    const auto trainer = hpo::load_trainer("older_entry", {bad});
    Watcher watcher;
    CHECK(trainer->run({}, watcher).kind == hpo::OutcomeKind::failed);  // its outcome has nothing but defaults
    CHECK_FALSE(trainer->profile({}));
    CHECK(trainer->check({}).empty());
}

TEST_CASE("a plugin of a newer version of the same ABI is taken without what it has more") {
    const auto entry = hpo::load_plugin(bad / "libhpo_trainer_longer_entry.so");
    CHECK(entry.struct_size > sizeof(hpo::abi::Entry));
    CHECK(entry.ask);
    CHECK(hpo::load_trainer("longer_entry", {bad})->check({}).empty());
}

TEST_CASE("news cross the border to a host that takes them, and not to an older one") {
    Watcher watcher;
    hpo::abi::Host host{};
    host.struct_size = sizeof host;
    host.context = &watcher;
    host.tell = [](void* context, hpo::abi::Text json) noexcept { static_cast<Watcher*>(context)->tell(hpo::abi::as_view(json)); };
    hpo::abi::HostProgress{host}.tell("{}");
    CHECK(watcher.told == std::vector<std::string>{"{}"});
    host.struct_size = offsetof(hpo::abi::Host, tell);
    hpo::abi::HostProgress{host}.tell("{}");
    CHECK(watcher.told.size() == 1);
}

TEST_CASE("a checkpoint is told across the border, and only where a job has a folder for it") {
    const auto trainer = hpo::load_trainer("fault", {good});
    hpo::TrainerJob job;
    job.params["steps"] = std::int64_t{3};
    Watcher watcher;
    CHECK(trainer->run(job, watcher).kind == hpo::OutcomeKind::complete);
    CHECK(watcher.checkpoints.empty());
    const hpo::tests::TemporaryDirectory directory;
    job.checkpoint_folder = directory.path().string();
    CHECK(trainer->run(job, watcher).kind == hpo::OutcomeKind::complete);
    CHECK(watcher.checkpoints == std::vector<std::int64_t>{0, 2});
    CHECK(watcher.told.empty());
}

TEST_CASE("what a trainer throws arrives as a failed outcome") {
    const auto trainer = hpo::load_trainer("fault", {good});
    hpo::TrainerJob job;
    Watcher watcher;
    job.params["fault"] = std::string{"throw"};
    auto outcome = trainer->run(job, watcher);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::trainer_error);
    CHECK(outcome.failure->type == "std::logic_error");
    CHECK(outcome.failure->message == "asked to throw");
    job.params["fault"] = std::string{"throw_int"};
    outcome = trainer->run(job, watcher);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->type == "int");
    CHECK(outcome.failure->message == "threw something that is no std::exception");
    job.params["fault"] = std::int64_t{3};
    CHECK(trainer->run(job, watcher).failure);
    job.params["fault"] = std::string{"none"};
    CHECK(trainer->run(job, watcher).kind == hpo::OutcomeKind::complete);
}

TEST_CASE("a missing plugin names what is there and where it was looked for") {
    const std::string text = refusal("fualt", {good, "/nonexistent"});
    CHECK_THAT(text, Catch::Contains("trainer fualt: no libhpo_trainer_fualt.so; did you mean 'fault'?; known: fault"));
    CHECK_THAT(text, Catch::Contains(good.string()) && Catch::Contains("/nonexistent"));
    CHECK_THAT(refusal("x", {}), Catch::Contains("known: none; searched: no folders"));
}

TEST_CASE("libraries that are no plugins are refused with the reason") {
    CHECK_THAT(refusal("no_symbol"), Catch::Contains("does not export hpo_trainer_plugin"));
    CHECK_THAT(refusal("wrong_magic"), Catch::Contains("wrong magic number"));
    CHECK_THAT(refusal("other_abi"), Catch::Contains("built for plugin ABI 999; this program has plugin ABI 1"));
    CHECK_THAT(refusal("short_entry"), Catch::Contains("its entry has 24 bytes; expected at least 64"));
    CHECK_THAT(refusal("wrong_name"), Catch::Contains("calls itself 'somebody_else'; expected 'wrong_name'"));
    CHECK(refusal("throwing") == "trainer throwing: create: std::runtime_error: no licence");
    CHECK(refusal("throwing_info") == "trainer throwing_info: info: std::runtime_error: no list of parameters");
}

TEST_CASE("a plugin of another LibTorch than the process has is refused with both versions") {
    CHECK_THROWS_WITH(hpo::load_trainer("some_libtorch", {bad}, {.libtorch_version = "2.9.0"}),
                      Catch::Contains("built for LibTorch 1.13.1; this process has LibTorch 2.9.0"));
    CHECK(hpo::load_trainer("some_libtorch", {bad})->info().libtorch_version == "1.13.1");
    CHECK_THAT(refusal("other_libtorch"), Catch::Contains("built for LibTorch 2.11.0; this process has LibTorch 1.13.1"));
    CHECK(hpo::load_trainer("fault", {good})->info().libtorch_version.empty());
}

TEST_CASE("files that are no libraries are refused") {
    const auto folder = std::filesystem::temp_directory_path() / ("hpo_loader_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto put = [&](const std::string& name, const std::string& content) {
        std::ofstream{folder / ("libhpo_trainer_" + name + ".so")} << content;
    };
    put("text", "this is not a library");
    put("empty", "");
    put("cut", std::string{"\177ELF"} + std::string(60, '\0'));
    std::filesystem::create_directories(folder / "libhpo_trainer_folder.so");
    CHECK_THAT(refusal("text", {folder}), Catch::Contains("not a shared library"));
    CHECK_THAT(refusal("empty", {folder}), Catch::Contains("not a shared library"));
    CHECK_THAT(refusal("cut", {folder}), Catch::Contains("cannot be loaded"));
    CHECK_THAT(refusal("folder", {folder}), Catch::Contains("not a shared library"));
    CHECK(hpo::available_plugins({folder}).size() == 4);
    CHECK(hpo::available_plugins({folder, good}).size() == 5);
    std::filesystem::remove_all(folder);
}
