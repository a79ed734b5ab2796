// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory_need/memory_axis.hpp"
#include "generated_studies.hpp"
#include "hpo/analysis/best.hpp"
#include "hpo/analysis/oom.hpp"
#include "hpo/script/recovery_answer.hpp"
#include "hpo/script/study_script.hpp"
#include "support/catch.hpp"

namespace {

using hpo::analysis::Change;
using hpo::tests::GeneratedStyle;

/// The configuration that "NAME VALUE instead of OTHER" asks for.
struct Proposal {
    hpo::ParamSet params;
    double micro = 0;
    bool understood = false;
};

Proposal proposal(const hpo::analysis::OomCase& entry, const hpo::tests::MemoryLaw& law) {
    Proposal made{.params = entry.failed.params()};
    const double whole = made.params.number(law.batch).value();
    const auto own = entry.failed.attempt ? entry.failed.attempt->plan.effective_micro_batch() : std::nullopt;
    made.micro = own ? static_cast<double>(*own) : whole;
    const std::string& text = entry.change->what;
    const auto space = text.find(' ');
    const auto instead = text.find(" instead of ");
    if (space == std::string::npos || instead == std::string::npos || space >= instead) return made;
    const std::string name = text.substr(0, space);
    const std::string wanted = text.substr(space + 1, instead - space - 1);
    if (name == "micro-batch") {
        made.micro = std::stod(wanted);
        made.understood = true;
        return made;
    }
    const hpo::Param* param = made.params.find(name);
    if (!param) return made;
    hpo::Param changed = *param;
    if (const auto* choices = std::get_if<hpo::CategoricalDistribution>(&*param->distribution)) {
        for (std::size_t i = 0; i < choices->choices.size(); ++i) {
            if (display_text(choices->choices[i]) != wanted) continue;
            changed.internal = static_cast<double>(i);
            made.understood = true;
        }
    } else {
        changed.internal = std::stod(wanted);
        made.understood = true;
    }
    made.params.set(changed);
    if (name == law.batch) made.micro = std::min(made.micro, made.params.number(name).value());
    return made;
}

struct Score {
    std::size_t cases = 0;  ///< out of memory by their configuration
    std::map<Change::Basis, std::size_t> said;
    std::map<Change::Basis, std::size_t> wrong;
};

std::vector<GeneratedStyle> styles() {
    std::vector<GeneratedStyle> all;
    for (const bool adaptive : {false, true}) {
        for (const bool peaks : {false, true}) {
            for (const std::size_t trials : {std::size_t{40}, std::size_t{120}}) {
                using Told = GeneratedStyle::Told;
                all.push_back({.told = Told::message, .peaks = peaks, .adaptive = adaptive, .trials = trials});
                all.push_back({.told = Told::flag, .peaks = peaks, .adaptive = adaptive, .trials = trials, .share_that_fits = 0.5});
                all.push_back({.ours = true, .peaks = peaks, .adaptive = adaptive, .trials = trials, .share_that_fits = 0.6});
            }
        }
    }
    return all;
}

// Under a sanitizer one seed takes minutes, and two run the same code as nine.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeds[] = {1, 2};
#else
constexpr std::uint64_t seeds[] = {1, 2, 3, 4, 9, 11, 15, 18, 20};
#endif

}  // namespace

TEST_CASE("of the changes that are said to have run none is too large, of the others at most one in fifty") {
    std::map<std::string, Score> scores;
    Score all;
    for (const auto& law : hpo::tests::memory_laws()) {
        for (const GeneratedStyle& style : styles()) {
            for (const std::uint64_t seed : seeds) {
                const auto study = hpo::tests::generated_study(law, style, seed);
                const auto report = hpo::analysis::oom_report(study.trials, {});
                Score& own = scores[law.name];
                for (const auto& entry : report.cases) {
                    for (Score* score : {&own, &all}) ++score->cases;
                    if (!entry.change) continue;
                    const Change::Basis basis = entry.change->basis;
                    const Proposal asked = proposal(entry, law);
                    INFO(law.name << ", " << study.trials.size() << " trials, seed " << seed << ", trial " << entry.failed.trial->number
                                  << ": " << entry.change->text());
                    const double need = law.need(asked.params, asked.micro);
                    if (basis == Change::Basis::figures) {  // no change of the configuration: it ran before, since its need is the noise's
                        CHECK_FALSE(asked.understood);
                        CHECK(need * (1 - style.noise) <= study.capacity);
                        continue;
                    }
                    CHECK(asked.understood);
                    const bool too_large = need * (1 - style.noise) > study.capacity;  // whatever the noise is
                    if (basis != Change::Basis::peaks) CHECK_FALSE(too_large);
                    for (Score* score : {&own, &all}) {
                        ++score->said[basis];
                        if (too_large) ++score->wrong[basis];
                    }
                }
            }
        }
    }
    const auto known = [](Score& score) { return score.said[Change::Basis::trial] + score.said[Change::Basis::peaks]; };
    const auto open = [](Score& score) { return score.cases - score.said[Change::Basis::attempt]; };
    for (auto& [name, score] : scores) {
        CAPTURE(name, known(score), open(score));
        CHECK(100 * known(score) >= 15 * open(score));  // silence would be true, too
        CHECK(50 * score.wrong[Change::Basis::peaks] <= score.said[Change::Basis::peaks]);
    }
    CAPTURE(known(all), open(all));
    CHECK(100 * known(all) >= 50 * open(all));
    CHECK(all.wrong[Change::Basis::trial] == 0);
    CHECK(all.said[Change::Basis::peaks] >= 100 * std::size(seeds));
}

namespace {

/// A script that holds the rule against trials as it is loaded, and fails when it refuses one.
std::string script_that_asks(const std::string& rule, const std::vector<const hpo::Trial*>& trials) {
    std::string text = "local rule = (function()\n" + rule + "end)()\n";
    for (const hpo::Trial* trial : trials) {
        text += "rule.require_fits { params = {";
        for (const hpo::Param& param : trial->params)
            text += " [" + hpo::analysis::detail::lua_quote(param.name) + "] = " + hpo::analysis::detail::lua_literal(param.value()) + ",";
        text += " }, require = function(_, holds, why) if not holds then error('trial " + std::to_string(trial->number) +
                " is refused: ' .. why) end end }\n";
    }
    return text +
           "local hpo = require 'hpo'\nreturn hpo.study { name = 's', trainer = 't', objective = { metric = 'm', direction = 'minimize' }, "
           "space = function(trial) end }";
}

bool refuses_one(const std::string& rule, const std::vector<const hpo::Trial*>& trials) {
    try {
        static_cast<void>(hpo::script::StudyScript::from_text(script_that_asks(rule, trials), "rule.lua"));
    } catch (const hpo::Error& error) {
        if (std::string_view{error.what()}.find("is refused") == std::string_view::npos) throw;
        return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a rule refuses none of the best trials, and says where it leaves a region alone for them") {
    std::size_t regions = 0;
    std::size_t rules = 0;
    std::size_t left_alone = 0;
    std::size_t narrower = 0;
    for (const auto& law : hpo::tests::memory_laws()) {
        for (const GeneratedStyle& style : styles()) {
            if (style.peaks) continue;  // the rule does not look at them
            for (const bool two_objectives : {false, true}) {
                auto study = hpo::tests::generated_study(law, style, 5);
                std::vector<hpo::Direction> directions{hpo::Direction::minimize};
                if (two_objectives) directions.push_back(hpo::Direction::minimize);
                for (hpo::Trial& trial : study.trials) {
                    if (two_objectives && !trial.values.empty()) trial.values.push_back(static_cast<double>(trial.number * 7 % 41));
                }
                const auto report = hpo::analysis::oom_report(study.trials, {}, {.directions = directions});
                const auto best = hpo::analysis::trials_to_keep(study.trials, directions);
                REQUIRE_FALSE(best.empty());
                INFO(law.name << ", " << study.trials.size() << " trials" << report.rule_lua);
                const bool has_best = std::ranges::any_of(report.regions, [](const auto& region) { return !region.best.empty(); });
                const bool says = report.rule_lua.find("among the best, ran there") != std::string::npos;
                const bool recovered = std::ranges::any_of(report.regions, [](const auto& region) { return region.recovered > 0; });
                if (!recovered) CHECK(has_best == says);
                regions += report.regions.empty() ? 0 : 1;
                left_alone += says ? 1 : 0;
                if (report.rule_lua.find("require_fits") == std::string::npos) continue;
                ++rules;
                narrower += says ? 1 : 0;
                CHECK_FALSE(refuses_one(report.rule_lua, best));
                std::vector<const hpo::Trial*> failed;
                for (const auto& entry : report.cases) failed.push_back(entry.failed.trial);
                CHECK(refuses_one(report.rule_lua, failed));
            }
        }
    }
    CAPTURE(regions, rules, left_alone, narrower);
    CHECK(2 * rules >= regions);  // no rule would refuse nobody
    CHECK(left_alone >= 5);
    CHECK(2 * narrower >= left_alone);
}

namespace {

hpo::Trial trial_of(std::int64_t number, double batch, double width, double depth, bool fits, double value) {
    hpo::Trial trial;
    trial.number = number;
    trial.params.set("batch_size", hpo::IntDistribution{8, 512, false, 8}, batch);
    trial.params.set("width", hpo::IntDistribution{64, 4096, false, 64}, width);
    trial.params.set("depth", hpo::IntDistribution{1, 16, false, 1}, depth);
    trial.state = fits ? hpo::TrialState::complete : hpo::TrialState::fail;
    if (fits) trial.values = {value};
    else trial.user_attributes["oom"] = "true";
    return trial;
}

/// Of 21 trials of large batches and widths 17 run out of memory: those of three levels or more. The best trial of the study is one of
/// the others. So are its neighbours.
std::vector<hpo::Trial> best_among_failures() {
    std::vector<hpo::Trial> trials;
    for (std::int64_t i = 0; i < 60; ++i) {
        const bool large = i < 21;
        const bool fits = !large || i < 4;
        const double depth =
            large ? (i < 4 ? 1.0 + static_cast<double>(i % 2) : 3.0 + static_cast<double>(i % 5)) : 1.0 + static_cast<double>(i % 8);
        const bool small_batch = i % 2 == 0;
        trials.push_back(trial_of(i,
                                  large         ? 256.0 + 32 * static_cast<double>(i % 4)
                                  : small_batch ? 32
                                                : 384,
                                  large         ? 1024.0 + 256 * static_cast<double>(i % 3)
                                  : small_batch ? 2048
                                                : 256,
                                  depth, fits, i == 0 ? 0.1 : 1 + 0.01 * static_cast<double>(i)));
    }
    return trials;
}

}  // namespace

TEST_CASE("where the best trial stands in a region, a third condition or on_oom alone spares it") {
    auto trials = best_among_failures();
    const std::vector directions{hpo::Direction::minimize};
    auto report = hpo::analysis::oom_report(trials, {}, {.directions = directions});
    CAPTURE(report.rule_lua);
    CHECK(report.oom_trials == 17);
    CHECK_THAT(report.rule_lua, Catch::Contains("\"depth\"] >= 3") && Catch::Contains("17 of 17 trials"));
    CHECK_FALSE(refuses_one(report.rule_lua, hpo::analysis::trials_to_keep(trials, directions)));

    // The best one differs from its neighbours in nothing that a rule can name.
    for (hpo::Trial& trial : trials) {
        if (trial.number < 21) trial.params = trials[20].params;
    }
    report = hpo::analysis::oom_report(trials, {}, {.directions = directions});
    REQUIRE(report.regions.size() == 1);
    CHECK(report.regions[0].best == std::vector<std::int64_t>{0, 1, 2});
    CHECK_THAT(report.rule_lua, !Catch::Contains("require_fits") && Catch::Contains("on_oom") &&
                                    Catch::Contains("Trials 0, 1, 2, among the best, ran there"));
    CHECK_THAT(hpo::analysis::oom_report(trials, {}).rule_lua, Catch::Contains("require_fits"));  // nobody said what is best
}

TEST_CASE("a witness that is easier in anything else shows nothing") {
    using Texts = std::vector<std::string>;
    const auto changes = [](const std::vector<hpo::Trial>& trials) {
        Texts texts;
        for (const auto& entry : hpo::analysis::oom_report(trials, {}).cases) texts.push_back(entry.change ? entry.change->what : "none");
        return texts;
    };
    const hpo::Trial failed = trial_of(0, 64, 1024, 4, false, 0);
    CHECK(changes({failed, trial_of(1, 32, 1024, 4, true, 1)}) == Texts{"batch_size 32 instead of 64"});
    CHECK(changes({failed, trial_of(1, 32, 2048, 5, true, 1)}) == Texts{"batch_size 32 instead of 64"});
    CHECK(changes({failed, trial_of(1, 32, 1024, 3, true, 1)}) == Texts{"none"});
    CHECK(changes({failed, trial_of(1, 32, 1024, 4, true, 1), trial_of(2, 24, 1024, 4, false, 1)}) == Texts{"none", "none"});

    const auto with = [](hpo::Trial trial, const std::string& name, double value) {
        trial.params.set(name, hpo::FloatDistribution{0, 100, false, {}}, value);
        return trial;
    };
    const hpo::Trial ran = trial_of(1, 32, 1024, 4, true, 1);
    CHECK(changes({failed, with(ran, "heads", 8)}) == Texts{"none"});  // another kind of model
    CHECK(changes({with(failed, "patch_size", 8), with(ran, "patch_size", 9)}) == Texts{"none"});
    CHECK(changes({with(failed, "patch_size", 8), with(ran, "patch_size", 8)}) == Texts{"batch_size 32 instead of 64"});
    CHECK(changes({with(failed, "lr", 8), with(ran, "lr", 9)}) == Texts{"batch_size 32 instead of 64"});
    CHECK(changes({with(failed, "momentum", 0.9), with(ran, "momentum", 0)}) == Texts{"none"});  // no buffer
    CHECK(changes({with(failed, "momentum", 0.9), ran}) == Texts{"none"});
    CHECK(changes({with(failed, "momentum", 0.9), with(ran, "momentum", 0.1)}) == Texts{"batch_size 32 instead of 64"});

    hpo::Trial pruned = ran;  // at once: it may have caught an out-of-memory
    pruned.state = hpo::TrialState::pruned;
    pruned.values.clear();
    CHECK(changes({failed, pruned}) == Texts{"none"});
    pruned.intermediate[0] = 1;
    CHECK(changes({failed, pruned}) == Texts{"batch_size 32 instead of 64"});
}

TEST_CASE("a witness under an easier plan or on a larger device shows nothing") {
    const auto attempted = [](hpo::Trial trial, std::int64_t whole, std::optional<std::int64_t> micro) {
        hpo::Attempt attempt;
        attempt.plan.effective_batch = whole;
        attempt.plan.micro_batch = micro;
        attempt.plan.device = "cuda:" + std::to_string(trial.number);
        attempt.capacity_bytes = std::int64_t{8} << 30U;
        attempt.outcome = hpo::OutcomeKind::complete;
        if (trial.state == hpo::TrialState::fail) {
            attempt.outcome = hpo::OutcomeKind::failed;
            attempt.failure.emplace();
            attempt.failure->kind = hpo::FailureKind::out_of_memory;
        }
        trial.user_attributes.clear();
        trial.attempts = {attempt};
        return trial;
    };
    const auto change = [](const hpo::Trial& failed, const hpo::Trial& ran) {
        const std::vector trials{failed, ran};
        const auto report = hpo::analysis::oom_report(trials, {});
        REQUIRE(report.cases.size() == 1);
        return report.cases[0].change ? report.cases[0].change->what : "none";
    };
    const hpo::Trial failed = attempted(trial_of(0, 64, 1024, 4, false, 0), 64, {});
    CHECK(change(failed, attempted(trial_of(1, 32, 1024, 4, true, 1), 32, {})) == "batch_size 32 instead of 64");
    CHECK(change(failed, attempted(trial_of(1, 32, 1024, 4, true, 1), 32, 16)) == "none");
    CHECK(change(failed, attempted(trial_of(1, 64, 1024, 4, true, 1), 64, 16)) == "micro-batch 16 instead of 64");
    CHECK(change(failed, attempted(trial_of(1, 64, 512, 4, true, 1), 64, {})) == "width 512 instead of 1024");
    hpo::Trial ran = attempted(trial_of(1, 64, 512, 4, true, 1), 64, {});
    ran.attempts[0].plan.activation_checkpointing = true;
    CHECK(change(failed, ran) == "none");
    ran = attempted(trial_of(1, 64, 1024, 4, true, 1), 64, {});
    ran.attempts[0].plan.activation_checkpointing = true;
    CHECK(change(failed, ran) == "activation checkpointing");
    ran = attempted(trial_of(1, 64, 512, 4, true, 1), 64, {});
    ran.attempts[0].plan.precision = hpo::Precision::bf16;
    CHECK(change(failed, ran) == "none");
    ran = attempted(trial_of(1, 64, 512, 4, true, 1), 64, {});
    ran.attempts[0].capacity_bytes = std::int64_t{16} << 30U;
    CHECK(change(failed, ran) == "none");
    ran.attempts[0].capacity_bytes.reset();
    CHECK(change(failed, ran) == "width 512 instead of 1024");  // one device is known

    const hpo::Trial in_pieces = attempted(trial_of(0, 64, 1024, 4, false, 0), 64, 16);
    CHECK(change(in_pieces, attempted(trial_of(1, 32, 1024, 4, true, 1), 32, 16)) == "none");  // its pieces stay as large
}

namespace {

/// Trials with batches of up to 56, whose peaks grow in a straight line, on a device of 16 GiB; the last one, with a batch of 64, does not
/// fit. Each has a value of its own in `alpha`, of which nothing depends, so that none is a witness for another. `held` is allocated before
/// each trial that ran.
std::vector<hpo::Trial> measured_batches(double held_gib) {
    const double gib = 1024 * 1024 * 1024.0;
    std::vector<hpo::Trial> trials;
    const auto add = [&](int batch, bool fits) {
        const auto number = static_cast<std::int64_t>(trials.size());
        hpo::Trial trial = trial_of(number, batch, 1024, 4, fits, 1);
        trial.params.set("alpha", hpo::FloatDistribution{0, 1, false, {}}, static_cast<double>(number * 37 % 101) / 101);
        trial.user_attributes = {};
        trials.push_back(std::move(trial));
    };
    for (int batch = 8; batch <= 56; batch += 8) {
        for (int again = 0; again < 6; ++again) {
            add(batch, true);
            trials.back().user_attributes["peak_memory_gb"] = std::to_string((0.27 * batch + held_gib) * gib / 1e9);
            if (held_gib > 0) {
                trials.back().user_attributes["gpu_memory_start"] =
                    "{\"allocated\": " + std::to_string(held_gib) + ", \"free\": " + std::to_string(16 - held_gib) + ", \"total\": 16.0}";
            }
        }
    }
    add(64, false);
    trials.back().user_attributes["error_message"] =
        hpo::json_quote(hpo::tests::detail::generated_failure(0.27 * 64 * gib, 16 * gib).message);
    return trials;
}

std::string change_by_peaks(const std::vector<hpo::Trial>& trials) {
    const auto report = hpo::analysis::oom_report(trials, {});
    const auto& change = report.cases.back().change;
    if (!change) return "none";
    return change->basis == Change::Basis::peaks ? change->what : "by another basis: " + change->what;
}

}  // namespace

TEST_CASE("peaks name a batch that both a measured trial and the model of all of them allow") {
    CHECK(change_by_peaks(measured_batches(0)) == "batch_size 48 instead of 64");
    // What was held before a trial began is no need of it.
    CHECK(change_by_peaks(measured_batches(3)) == "batch_size 48 instead of 64");

    // A trial that did not fit speaks against whatever needs as much.
    auto contradicted = measured_batches(0);
    hpo::Trial failed = contradicted.back();
    failed.params.set("batch_size", hpo::IntDistribution{8, 512, false, 8}, 48);
    contradicted.insert(contradicted.end() - 1, failed);
    CHECK(change_by_peaks(contradicted) == "batch_size 24 instead of 64");

    // One measurement that is too low is not believed against all others.
    auto outlier = measured_batches(0);
    hpo::Trial& low = outlier[outlier.size() - 2];  // 56 need more than 93 % of the device
    REQUIRE(low.params.number("batch_size") == 56);
    low.user_attributes["peak_memory_gb"] = "9";
    CHECK(change_by_peaks(outlier) == "batch_size 24 instead of 64");  // by itself it would allow 56
}

TEST_CASE("a configuration that nearly filled the device where it ran has leaked nothing where it did not") {
    const double gib = 1024 * 1024 * 1024.0;
    hpo::Trial failed = trial_of(1, 64, 1024, 4, false, 0);
    failed.user_attributes.clear();
    failed.user_attributes["error_message"] = hpo::json_quote(hpo::tests::detail::generated_failure(9 * gib, 8 * gib).message);
    for (const double peak : {4.0, 7.9}) {
        hpo::Trial ran = trial_of(0, 64, 1024, 4, true, 1);
        ran.user_attributes["peak_memory_gb"] = std::to_string(peak * gib / 1e9);
        const std::vector trials{ran, failed};
        const auto report = hpo::analysis::oom_report(trials, {});
        CHECK(report.causes.contains(hpo::OomCause::leak) == (peak < 5));
    }
}

TEST_CASE("names tell sizes from what divides the work") {
    using hpo::analysis::direction_by_name;
    for (const char* name : {"batch_size", "train.batchSize", "model.width", "n_layers", "numLayers2", "tok.max_length", "hidden_dims",
                             "d_model", "image_size", "seq_len", "lora_rank", "d_ff", "batch.size", "experiment.n_heads", "size"}) {
        CAPTURE(name);
        CHECK(direction_by_name(name) == 1);
    }
    for (const char* name : {"patch_size",
                             "patch.size",
                             "grad_accum",
                             "accumulate_batches",
                             "mlp_ratio",
                             "kernel_size",
                             "stride",
                             "n_groups",
                             "frozen_layers",
                             "tensor_parallel_size",
                             "alpha",
                             "x",
                             "",
                             "chunk_size",
                             "step_size",
                             "batch_norm",
                             "voxel_size",
                             "voxel.size",
                             "pixel_size",
                             "grid_cell_size",
                             "bin_size",
                             "bin_width",
                             "hop_length",
                             "hop.size",
                             "window_hop",
                             "tp_size",
                             "pp_size",
                             "cp_size",
                             "merge_size",
                             "token_merge",
                             "recompute_layers",
                             "recompute_blocks",
                             "cpu_layers",
                             "layers_on_cpu",
                             "squeeze_size",
                             "vocab_size",
                             "tile.width",
                             "glimpse_size",
                             "glimpse.size",
                             "population_size",
                             "test_size",
                             "min_length"}) {
        CAPTURE(name);
        CHECK(direction_by_name(name) == 0);
    }
}

TEST_CASE("a bound has no more digits than it takes to separate the trials") {
    std::vector<hpo::ParamSet> params(40);
    std::vector<hpo::analysis::Example> examples;
    for (std::size_t i = 0; i < params.size(); ++i) {
        params[i].set("scale", hpo::FloatDistribution{0, 100}, 1.23456789012345 + 2.5 * static_cast<double>(i));
        examples.push_back({.params = &params[i], .positive = i >= 20, .peak_bytes = {}});
    }
    const auto regions = hpo::analysis::learn_regions(examples);
    REQUIRE(regions.size() == 1);
    CHECK(describe(regions[0].region) == "scale >= 50.0");  // the largest that fits is 48.7..., the smallest that does not is 51.2...
}
