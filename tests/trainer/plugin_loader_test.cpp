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
    void phase(std::string_view name) override { phases.emplace_back(name); }
    void alive() override { ++lives; }
    void last_step(std::int64_t step) override { last = step; }
    hpo::Value suggest(const std::string& name, const std::string& distribution) override {
        if (name == "late") throw hpo::Error{hpo::Errc::interrupted, "the attempt is to end"};
        if (name == "odd") throw hpo::Error{hpo::Errc::bad_value, "parameter 'odd': got another distribution"};
        return name + distribution;
    }
    std::optional<std::string> recall(const std::string& key) override {
        const auto found = kept.find(key);
        return found == kept.end() ? std::nullopt : std::optional{found->second};
    }
    void keep(const std::string& key, const std::string& text) override { kept[key] = text; }
    std::vector<std::int64_t> steps;
    std::vector<double> values;
    std::vector<hpo::MemoryMark> marks;
    std::vector<std::string> lines;
    std::vector<std::string> phases;
    std::map<std::string, std::string> kept;
    int lives = 0;
    std::optional<std::int64_t> last;
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
    const hpo::PluginTrainer trainer{hpo::load_plugin(good / "libhpo_trainer_fault.so")};
    const auto said = trainer.ask(R"({"question": "best_colour"})", watcher);
    CHECK(said.status == hpo::abi::failed);
    CHECK(said.text == "request.question: got \"best_colour\"; expected one of info, run, evaluate, profile, predict, check, measure");
}

TEST_CASE("a plugin that evaluates no saved models says so") {
    Watcher watcher;
    const auto outcome = hpo::load_trainer("fault", {good})->evaluate({.saved_model = "/tmp"}, watcher);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->message == "trainer fault saves no models and evaluates none");
}

TEST_CASE("each call of a trainer's progress crosses the border as an event, and its answer comes back") {
    Watcher watcher;
    const hpo::abi::Host host{
        .context = &watcher,
        .stop_requested = [](void* context) noexcept -> std::int32_t { return static_cast<Watcher*>(context)->stop_requested() ? 1 : 0; },
        .tell =
            [](void* context, hpo::abi::Text text, hpo::abi::Sink answer) noexcept {
                const auto event = hpo::read_record<hpo::AttemptEvent>(hpo::abi::as_view(text), "event");
                const auto given = hpo::record_line(hpo::tell(*static_cast<Watcher*>(context), event));
                if (hpo::awaits_answer(event)) answer.write(answer.context, hpo::abi::as_text(given));
            }};
    hpo::abi::HostProgress told{host};
    hpo::Progress& progress = told;
    watcher.stop_after = 2;
    CHECK(progress.report(3, 0.5));
    CHECK_FALSE(watcher.last);
    progress.last_step(4);
    CHECK_FALSE(progress.report(4, HUGE_VAL));
    CHECK(progress.stop_requested());
    CHECK(watcher.last == 4);
    CHECK(watcher.values == std::vector{0.5, HUGE_VAL});
    progress.memory({.name = "oom", .seconds = 2});
    REQUIRE(watcher.marks.size() == 1);
    CHECK(watcher.marks[0].name == "oom");
    progress.log("a \"line\"");
    CHECK(watcher.lines == std::vector<std::string>{"a \"line\""});
    progress.phase("forward");
    CHECK(watcher.phases == std::vector<std::string>{"forward"});
    progress.alive();
    CHECK(watcher.lives == 1);
    progress.checkpointed(7);
    CHECK(watcher.checkpoints == std::vector<std::int64_t>{7});
    CHECK_FALSE(progress.recall("peak"));
    progress.keep("peak", "3\nGiB");
    CHECK(progress.recall("peak") == "3\nGiB");
    CHECK(progress.suggest("lr", "{}") == hpo::Value{std::string{"lr{}"}});
    CHECK_THROWS_WITH(progress.suggest("odd", "{}"), "parameter 'odd': got another distribution");
    try {
        static_cast<void>(progress.suggest("late", "{}"));
        FAIL("accepted");
    } catch (const hpo::Error& error) {
        CHECK(error.code() == hpo::Errc::interrupted);
    }
}

TEST_CASE("an event that the worker does not know becomes a line of the log, and is answered with the error") {
    using namespace hpo::abi;
    const Entry entry{magic,
                      sizeof(Entry),
                      version,
                      "odd",
                      "",
                      [](void**, Sink) noexcept -> std::int32_t { return done; },
                      [](void*) noexcept {},
                      [](void*, Text, const Host* host, Sink sink) noexcept -> std::int32_t {
                          host->tell(host->context, as_text(R"({"op": "colour"})"), sink);
                          return done;
                      }};
    Watcher watcher;
    const auto said = hpo::PluginTrainer{entry}.ask("{}", watcher);
    const auto answer = hpo::read_record<hpo::EventAnswer>(said.text, "answer");
    CHECK_THAT(answer.suggestion.error, Catch::Contains("event: unknown op 'colour'"));
    CHECK(watcher.lines == std::vector{answer.suggestion.error});
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
    CHECK_THAT(refusal("other_abi"), Catch::Contains("built for plugin ABI 1; this program has plugin ABI 2"));
    CHECK_THAT(refusal("short_entry"), Catch::Contains("its entry has 24 bytes; expected 56"));
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
