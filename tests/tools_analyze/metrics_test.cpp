// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::test;
using Catch::Contains;
using hpo::Direction;
using nlohmann::json;

namespace {

/// What hpo-tune keeps of a study, and the values of its complete trials.
struct Told {
    std::string name;
    std::vector<Direction> directions{Direction::maximize};
    std::string metric{};  ///< empty: another program made the study
    std::vector<std::vector<double>> values{{0.25}, {0.5}};
    std::string trainer = "image_classifier";
    std::string options = "{}";
    std::string data_hash{};
};

/// A store with studies, of hpo or of another program.
class Studies {
public:
    explicit Studies(const std::vector<Told>& all) {
        hpo::store::Sqlite store{path()};
        for (const Told& told : all) {
            const hpo::Study study = store.open_study(told.name, told.directions, hpo::Store::Open::create);
            if (!told.metric.empty()) {
                store.set_study_system_attribute(study.id, "hpo:trainer", hpo::json_quote(told.trainer));
                store.set_study_system_attribute(study.id, "hpo:trainer_options", told.options);
                store.set_study_system_attribute(study.id, "hpo:metric", hpo::json_quote(told.metric));
            }
            for (const std::vector<double>& values : told.values) {
                hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
                if (!told.data_hash.empty()) trial.user_attributes.set_text("data_hash", told.data_hash);
                trial.user_attributes.set_number("held_bytes", std::int64_t{3} << 19U);
                store.report(trial, {.step = 1, .value = values[0]});
                trial.state = hpo::TrialState::complete;
                trial.values = values;
                store.finish(trial);
            }
        }
    }
    [[nodiscard]] CommandResult analyze(const std::string& arguments) const {
        return hpo::test::analyze(arguments + " --store '" + path() + "'");
    }

private:
    [[nodiscard]] std::string path() const { return (folder_.path() / "hpo.db").string(); }
    hpo::tests::TemporaryDirectory folder_;
};

}  // namespace

TEST_CASE("a study's objective has its metric's name in every command") {
    const Studies studies{{{.name = "named", .metric = "accuracy"}}};
    CHECK_THAT(studies.analyze("best").out, Contains("Trial 1 of study named: accuracy 0.5\n"));
    CHECK_THAT(studies.analyze("best --top 2").out, Contains("trial  accuracy  parameters"));
    CHECK_THAT(studies.analyze("summary").out, Contains("Study named (maximize accuracy) in") && Contains("trial 1: accuracy 0.5"));
    CHECK_THAT(studies.analyze("trials").out, Contains("accuracy") && !Contains("value"));
    CHECK_THAT(studies.analyze("trial 0").out,
               Contains("Trial 0 of study named: complete, accuracy 0.25") && Contains("the last at step 1: accuracy 0.25"));
    for (const std::string command : {"best", "summary", "trials", "trial 0"}) {
        CAPTURE(command);
        CHECK(json::parse(studies.analyze(command + " --json").out)["metrics"] == json{"accuracy"});
    }
}

TEST_CASE("several objectives each have their name and direction") {
    const Studies studies{
        {{.name = "two",
          .directions = {Direction::maximize, Direction::minimize},
          .metric = "f1, seconds",
          .values = {{0.5, 9}, {0.25, 3}}},
         {.name = "nameless", .directions = {Direction::maximize, Direction::minimize}, .values = {{0.5, 9}, {0.25, 3}}}}};
    CHECK_THAT(studies.analyze("best --study two").out, Contains("trial  maximize f1  minimize seconds  parameters"));
    CHECK_THAT(studies.analyze("trials --study two").out, Contains("  maximize f1  minimize seconds  "));
    CHECK_THAT(studies.analyze("trial 1 --study two").out, Contains("complete, f1 0.25, seconds 3"));
    CHECK_THAT(studies.analyze("best --study nameless").out, Contains("trial  maximize objective 0  minimize objective 1  parameters"));
    CHECK_THAT(studies.analyze("summary").out,
               Contains("Study two (maximize f1, minimize seconds)") && Contains("Study nameless (maximize, minimize)"));
}

TEST_CASE("Optuna's metric names are read, and what other programs keep under 'metric' is no name") {
    const std::string sample = " --store " + data + "optuna-5.0.0.db";
    CHECK_THAT(analyze("best --study features" + sample).out, Contains("Trial 45 of study features: validation loss 0.386469"));
    CHECK_THAT(analyze("best --study features-mo" + sample).out, Contains("minimize loss  maximize accuracy"));
    CHECK_THAT(analyze("best --study oom" + sample).out, Contains("Trial 24 of study oom: 0.47428\n"));
    CHECK(json::parse(analyze("best --json --study oom" + sample).out)["metrics"].is_null());
}

TEST_CASE("bytes are shown as sizes in text, and stay numbers in JSON") {
    const double bytes = 16.390625 * (1 << 20);
    const Studies studies{
        {{.name = "small", .directions = {Direction::minimize}, .metric = "peak_memory_bytes", .values = {{bytes}, {2e9}}},
         {.name = "late", .directions = {Direction::minimize}, .metric = "peak_memory_bytes", .values = {{900.0}, {2e9}}}}};
    for (const std::string command : {"best", "best --top 2", "summary", "trial 0", "trials"}) {
        CAPTURE(command);
        CHECK_THAT(studies.analyze(command + " --study small").out, Contains("16.39 MiB"));
        CHECK_THAT(studies.analyze(command + " --study small --json").out, Contains("17186816") && !Contains("16.39"));
    }
    CHECK_THAT(studies.analyze("trial 0 --study small").out, Contains("held_bytes  1.50 MiB"));
    CHECK_THAT(studies.analyze("compare").out,
               Contains("best peak_memory_bytes") && Contains("16.39 MiB (trial 0)") && Contains("900 bytes (trial 0)"));
}

TEST_CASE("compare refuses studies that optimise different things, says why, and names some that can be compared") {
    const Studies studies{
        {{.name = "plain", .metric = "accuracy"},
         {.name = "guarded", .metric = "accuracy"},
         {.name = "other", .metric = "f1"},
         {.name = "opposite", .directions = {Direction::minimize}, .metric = "accuracy"},
         {.name = "two", .directions = {Direction::maximize, Direction::minimize}, .metric = "accuracy, seconds", .values = {}},
         {.name = "turned", .directions = {Direction::minimize, Direction::maximize}, .metric = "seconds, accuracy", .values = {}}}};
    const struct {
        std::string studies;
        const char* says;
    } cases[] = {{"plain other", "got studies 'plain' (maximize accuracy) and 'other' (maximize f1), which have different metrics"},
                 {"plain opposite", "'opposite' (minimize accuracy), which optimise in different directions"},
                 {"plain two", "'two' (maximize accuracy, minimize seconds), which have different numbers of objectives"},
                 {"", "which have different metrics"}};
    for (const auto& entry : cases) {
        for (const std::string as : {"", " --json"}) {
            const CommandResult result = studies.analyze("compare " + entry.studies + as);
            CAPTURE(entry.studies, result.error);
            CHECK(result.status == 2);
            CHECK(result.out.empty());
            CHECK_THAT(result.error, Contains(entry.says) && Contains("expected studies with the same metrics and directions, such as "
                                                                      "'plain', 'guarded'"));
        }
    }
    const CommandResult same = studies.analyze("compare plain guarded");
    CHECK(same.status == 0);
    CHECK_THAT(same.out, Contains("Studies (maximize accuracy) in") && Contains("  best accuracy ") && !Contains("Note"));
    CHECK(studies.analyze("compare two turned").status == 0);  // the order says nothing
    const Studies unlike{{{.name = "a", .metric = "accuracy"}, {.name = "b", .metric = "f1"}}};
    CHECK_THAT(unlike.analyze("compare").error, Contains("same metrics and directions; no other study of this store has those of 'a'\n"));
}

TEST_CASE("compare notes what is not known of the metrics, and what else differs") {
    const Studies studies{{{.name = "plain", .metric = "accuracy", .options = R"({"epochs": 2})", .data_hash = "a1"},
                           {.name = "long", .metric = "accuracy", .options = R"({"epochs": 3, "patience": 1})", .data_hash = "b2"},
                           {.name = "text", .metric = "accuracy", .trainer = "text_classifier", .data_hash = "a1"},
                           {.name = "foreign"},
                           {.name = "foreign2"},
                           {.name = "empty", .metric = "accuracy", .values = {}},
                           {.name = "infinite", .metric = "accuracy", .values = {{std::numeric_limits<double>::infinity()}}}}};
    const auto notes = [&](const std::string& arguments) {
        const CommandResult result = studies.analyze("compare --json " + arguments);
        INFO(result.error);
        CHECK(result.status == 0);
        std::string all;
        const json report = json::parse(result.out);
        for (const json& note : report["notes"]) all += note.get<std::string>() + "\n";
        return all;
    };
    CHECK(notes("plain foreign") == "Study 'foreign' stores no name of its metric. It is not known whether it is accuracy, too.\n");
    CHECK(notes("foreign foreign2") == "No study stores the name of its metric. It is not known whether all have the same.\n");
    CHECK(notes("plain long") ==
          "The trainer option epochs differs: 2 in 'plain'; 3 in 'long'.\n"
          "The trainer option patience differs: 1 in 'long'; not set in 'plain'.\n"
          "Studies 'plain' and 'long' were run on different data: their trials have different values of data_hash.\n");
    CHECK_THAT(notes("plain text"), Contains("The trainers differ: image_classifier in 'plain'; text_classifier in 'text'."));
    CHECK_THAT(notes("plain empty"), Contains("Study 'empty' has no trial.\n"));
    CHECK_THAT(notes("plain infinite"), Contains("Study 'infinite' has no complete and feasible trial with a finite value"));
    CHECK_THAT(studies.analyze("compare plain foreign").out, Contains("  Note: Study 'foreign' stores no name"));
}
