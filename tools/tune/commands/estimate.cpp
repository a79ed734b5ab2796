// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "hpo/base/bytes.hpp"
#include "hpo/base/time.hpp"
#include "hpo/space/enumeration.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite/stored_predictions.hpp"
#include "support/json.hpp"
#include "support/law_json.hpp"
#include "support/screen.hpp"
#include "support/terminal.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/display/text.hpp"
#include "tune/prediction/same_program.hpp"
#include "tune/prediction/survey.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/idle_options.hpp"
#include "tune/settings/stored_study.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

std::string percent_of(std::int64_t part, std::int64_t whole) {
    return tools::percent(static_cast<double>(part) / static_cast<double>(whole));
}
/// The same with as many digits as tell it from all of the whole, so that nothing "needs 100 %" and does not fit.
std::string percent_near_all(std::int64_t part, std::int64_t whole) {
    const double share = static_cast<double>(part) / static_cast<double>(whole);
    if (part == whole || std::abs(share - 1) >= 0.05) return percent_of(part, whole);
    int digits = 1;
    for (double smallest = 0.5e-3; digits < 9 && std::abs(share - 1) < smallest; smallest /= 10) ++digits;
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << 100 * share << " %";
    return text.str();
}

/// How far a prediction may be off, in words.
std::string claim(const Forecast& forecast) {
    if (forecast.uncertainty > 0) return "up to " + tools::percent(forecast.uncertainty) + " more is possible";
    return forecast.upper_bound ? "an upper bound" : "exact";
}

/// The parts as a person reads them. What is learned of a large configuration may be so uncertain that the need is cut, to the device or
/// twice that. The margin is then below 0, and comes off the uncertainty.
std::vector<EstimatePart> shown_parts(const Estimate& estimate) {
    std::vector<EstimatePart> parts = estimate.parts;
    const auto named = [&](const char* name) { return std::ranges::find(parts, name, &EstimatePart::name); };
    const auto uncertainty = named(guard::uncertainty_part), margin = named(guard::margin_part);
    if (uncertainty == parts.end() || margin == parts.end() || margin->bytes >= 0) return parts;
    uncertainty->bytes += std::exchange(margin->bytes, 0);
    std::erase_if(parts, [](const EstimatePart& part) { return part.name == guard::margin_part; });
    return parts;
}

/// What is said of the estimates' origin: "by dry_run, exact".
std::string origin(const Forecast& forecast) {
    if (!forecast.estimate.need) return "not predicted" + (forecast.remark.empty() ? "" : ": " + forecast.remark);
    std::string text = "by " + forecast.estimate.source;
    if (forecast.predicted) text += ", " + claim(forecast);
    return text + (forecast.remark.empty() ? "" : "; " + forecast.remark);
}

constexpr const char* standard_within = "15min";

struct EstimateOptions {
    std::string per;
    std::string by;
    std::string within;  ///< empty: standard_within
    bool space = false;
    bool json = false;
};

/// How long a look at the whole space may take.
double within_seconds(const EstimateOptions& options) {
    const double seconds = require_seconds("--within", options.within.empty() ? standard_within : options.within);
    if (seconds <= 0) throw bad_value("--within", "'" + options.within + "'", "a duration above 0, such as 15min");
    return seconds;
}

/// The answer of the command, as text on standard output and as JSON.
class EstimateReport {
public:
    EstimateReport(const Settings& settings, const TrainerInfo& info, Estimator& estimator, std::vector<std::string> same_program)
        : settings_{settings},
          info_{info},
          estimator_{estimator},
          same_program_{std::move(same_program)},
          capacity_{estimator.options().capacity_bytes} {
        json_ = {{"study", settings.description().name},
                 {"trainer", info.name},
                 {"device", estimator.options().device},
                 {"capacity_bytes", tools::or_null(capacity_)},
                 {"guard", estimator.options().guard}};
        text_ = "trainer " + info.name + " on " + estimator.options().device + (capacity_ ? " with " + format_bytes(*capacity_) : "") +
                ", guard " + estimator.options().guard + "\n";
    }

    void configuration() {
        require_fixed(settings_);
        const ParamSet params = TypicalConfiguration{settings_, info_}.params();
        note_unused_fixed(settings_, params);
        const ExecutionPlan plan = estimator_.plan(params);
        const Forecast forecast = estimator_.forecast(params, plan);
        const Estimate& estimate = forecast.estimate;
        Json parts = Json::array();
        std::vector<std::vector<std::string>> rows;
        for (const EstimatePart& part : estimate.parts) parts.push_back({{"name", part.name}, {"bytes", part.bytes}});
        for (const EstimatePart& part : shown_parts(estimate))
            rows.push_back({part.name, format_bytes(part.bytes), share_of_need(part.bytes, estimate)});
        const bool fits = estimate.need && capacity_ && *estimate.need <= *capacity_;
        json_["params"] = tools::to_json(params);
        json_["plan"] = tools::to_json(plan);
        json_["need_bytes"] = tools::or_null(estimate.need);
        json_["comfort_bytes"] = tools::or_null(estimate.comfort);
        json_["parts"] = std::move(parts);
        json_["source"] = estimate.source;
        json_["confidence"] = estimate.confidence;
        json_["uncertainty"] = forecast.predicted ? Json(forecast.uncertainty) : Json(nullptr);
        json_["upper_bound"] = forecast.predicted ? Json(forecast.upper_bound) : Json(nullptr);
        json_["remark"] = forecast.remark;
        json_["fits"] = estimate.need && capacity_ ? Json(fits) : Json(nullptr);
        for (const Param& param : params) text_ += "  " + param.name + " = " + display_text(param.value()) + "\n";
        if (const auto micro = plan.effective_micro_batch(); micro && plan.effective_batch)
            text_ += "  run as " + std::to_string(plan.accumulation_steps()) + " x micro-batch " + std::to_string(*micro) + "\n";
        if (estimate.need) rows.push_back({"required", format_bytes(*estimate.need), capacity_ ? of_device(*estimate.need) : ""});
        if (estimate.comfort)
            rows.push_back({"cache kept", format_bytes(*estimate.comfort), capacity_ ? of_device(*estimate.comfort) : ""});
        if (!rows.empty()) text_ += "\n" + table({"part", "bytes", ""}, rows);
        text_ += origin(forecast) + "\n";
        if (!capacity_ || !estimate.need) return;
        const auto largest = estimator_.largest_micro_batch(params);
        json_["largest_micro_batch"] = largest_json(largest);
        json_["larger_need_no_more"] = largest ? Json(largest->larger_need_no_more) : Json(nullptr);
        text_ += fits ? "fits" : "does not fit";
        if (estimator_.can_split(plan))
            text_ +=
                std::string{largest && largest->larger_need_no_more ? "; " : "; largest micro-batch that fits: "} + examples(largest, plan);
        text_ += "\n";
        if (passes(largest, plan) > 1) text_ += several_passes;
    }

    void per_value(const std::string& name) {
        require_fixed(settings_);
        const TypicalConfiguration typical{settings_, info_};
        const Param* searched = typical.params().find(name);
        if (!searched) {
            std::vector<std::string> known;
            for (const Param& param : typical.params()) known.push_back(param.name);
            throw unknown_name("--per", "parameter", name, known);
        }
        Json rows = Json::array();
        bool has_several_passes = false;
        bool can_split = false;
        std::vector<std::vector<std::string>> lines;
        for (const Value& value : values_of(*searched->distribution)) {
            const std::optional<ParamSet> params = typical.with(name, value);
            if (!params) {
                rows.push_back({{"value", tools::to_json(value)}, {"in_space", false}});
                lines.push_back({display_text(value), "not in the space", ""});
                continue;
            }
            const ExecutionPlan plan = estimator_.plan(*params);
            const auto need = estimator_.forecast(*params, plan).estimate.need;
            const auto largest = estimator_.largest_micro_batch(*params);
            rows.push_back({{"value", tools::to_json(value)},
                            {"in_space", true},
                            {"need_bytes", tools::or_null(need)},
                            {"largest_micro_batch", largest_json(largest)},
                            {"larger_need_no_more", largest ? Json(largest->larger_need_no_more) : Json(nullptr)}});
            const bool is_split = capacity_ && estimator_.can_split(plan);
            lines.push_back({display_text(value), need ? format_bytes(*need) : "not known", is_split ? examples(largest, plan) : ""});
            can_split = can_split || is_split;
            has_several_passes = has_several_passes || passes(largest, plan) > 1;
        }
        json_["per"] = {{"parameter", name}, {"rows", std::move(rows)}};
        text_ += "\n" + table({name, "required", can_split ? "largest micro-batch" : ""}, lines);
        if (has_several_passes) text_ += several_passes;
    }

    void whole_space(const std::string& by, double most_seconds) {
        if (!capacity_) throw Error{Errc::usage, "--space needs --device-memory: the memory that configurations must fit"};
        const Stopwatch watch;
        const SpaceCount count = count_space(settings_, by);
        SurveyLimits limits{.most = 20'000, .draws = 1'000, .seconds = most_seconds};
        std::optional<tools::Screen> screen;  // where one can be redrawn
        if (tools::takes_escapes(STDERR_FILENO)) screen.emplace(STDERR_FILENO);
        const double every_seconds = screen ? 0.2 : 2;
        double drawn = 0;
        limits.progress = [&](const Survey& so_far, std::uint64_t of) {
            if (watch.seconds() - drawn < every_seconds) return;
            drawn = watch.seconds();
            const std::string text = std::to_string(so_far.counts.all()) + " of " + std::to_string(of) + " configurations, " +
                                     std::to_string(estimator_.predictions_made()) + " predictions";
            if (screen) screen->draw({}, {text});
            else std::cerr << text << "\n";
        };
        const Survey found = survey(estimator_, settings_, info_, count, limits);
        screen.reset();
        if (found.complete && found.counts.all() == 0)
            throw Error{Errc::bad_value,
                        settings_.arguments().script + ": the space has no configuration: each that was looked at was refused"};
        for (const std::string& name : found.never_asked)
            std::cerr << "hpo-tune: note: --fix " << name << ": no configuration that was checked has it\n";
        const auto encoded = [](const FitCounts& counts) {
            return Json{{"looked_at", counts.all()},
                        {"fit_as_they_are", counts.as_they_are},
                        {"fit_with_a_smaller_micro_batch", counts.smaller},
                        {"never_fit", counts.never},
                        {"unpredicted", counts.unknown}};
        };
        Json space = encoded(found.counts);
        space["combinations"] = count.combinations;
        space["random_draws"] = found.sampled;
        space["complete"] = found.complete;
        space["predictions_made"] = estimator_.predictions_made();
        space["seconds"] = watch.seconds();
        space["remarks"] = estimator_.remarks();
        space["branches_by"] = tools::text_or_null(count.branches_by);
        space["branches"] = Json::array();
        std::vector<std::vector<std::string>> rows;
        const auto add = [&](const std::string& label, const FitCounts& counts) {
            const auto figure = [&](std::uint64_t part) {
                return std::to_string(part) +
                       (counts.all() > 0 ? " (" + percent_of(static_cast<std::int64_t>(part), static_cast<std::int64_t>(counts.all())) + ")"
                                         : "");
            };
            rows.push_back({label, std::to_string(counts.all()), figure(counts.as_they_are), figure(counts.smaller), figure(counts.never),
                            found.counts.unknown > 0 ? std::to_string(counts.unknown) : ""});
        };
        for (const auto& [value, counts] : found.branches) {
            Json branch = encoded(counts);
            branch["value"] = tools::to_json(value);
            space["branches"].push_back(std::move(branch));
            add(display_text(value), counts);
        }
        add("all", found.counts);
        json_["space"] = std::move(space);
        text_ += "\n" + table({count.branches_by, found.sampled ? "random draws" : "combinations", "fit", "with a smaller micro-batch",
                               "never", found.counts.unknown > 0 ? "not known" : ""},
                              rows);
        if (!found.complete) text_ += "time ran out: the rest was not checked\n";
        if (const auto made = estimator_.predictions_made(); made > 0)
            text_ += tools::counted(static_cast<std::size_t>(made), "prediction") + " in " + duration(watch.seconds()) + "\n";
        for (const std::string& remark : estimator_.remarks()) text_ += "predictions: " + remark + "\n";
    }

    void print(bool as_json) {
        json_["learned_from_attempts"] = estimator_.learned();
        const auto law = estimator_.law();
        json_["law"] = law ? tools::to_json(*law) : Json(nullptr);
        const bool borrows = law && law->borrowed > 0;
        json_["same_program"] = borrows ? same_program_ : std::vector<std::string>{};
        if (as_json) return tools::print(json_);
        std::cout << text_;
        if (law) std::cout << "peaks of the " << (borrows ? "program" : "study") << "'s trials: " << in_words(*law) << "\n";
        if (borrows)
            std::cout << "other studies of " << settings_.text("store") << " that ran the same program: " << join_names(same_program_)
                      << "\n";
        if (!law) std::cout << learned_text();
    }

private:
    [[nodiscard]] std::string learned_text() const {
        if (!estimator_.learns()) return {};
        return "guard " + estimator_.options().guard + " has learned from " + tools::counted(estimator_.learned(), "attempt") + " of " +
               settings_.text("store") + " on this device\n";
    }
    [[nodiscard]] std::string of_device(std::int64_t bytes) const { return percent_near_all(bytes, *capacity_) + " of the device"; }
    static std::string share_of_need(std::int64_t bytes, const Estimate& estimate) {
        return estimate.need && *estimate.need > 0 ? percent_of(bytes, *estimate.need) : "";
    }
    static Json largest_json(const std::optional<LargestMicroBatch>& found) { return found ? Json(found->examples) : Json(nullptr); }
    /// Passes of a step whose micro-batch that is; 1 where it holds the whole batch or a larger one.
    static std::int64_t passes(const std::optional<LargestMicroBatch>& found, const ExecutionPlan& plan) {
        if (!found || !plan.effective_batch || found->larger_need_no_more) return 1;
        return (*plan.effective_batch + found->examples - 1) / found->examples;
    }
    static constexpr const char* several_passes =
        "a step of several passes keeps all gradients during each pass, so a step of one pass may hold a larger micro-batch\n";
    /// A micro-batch above the plan's batch is that of another one, which is as large.
    static std::string examples(const std::optional<LargestMicroBatch>& found, const ExecutionPlan& plan) {
        if (!found) return "none";
        const std::string count = std::to_string(found->examples) + (found->examples >= Estimator::most_examples ? " or more" : "");
        const bool is_other = found->examples > plan.effective_batch.value_or(found->examples);
        if (found->larger_need_no_more) return "every micro-batch fits; above " + count + " examples the need stays the same";
        if (const auto several = passes(found, plan); several > 1) return count + ", in " + std::to_string(several) + " passes a step";
        return count + (is_other ? ", of a batch as large, in one pass a step" : "");
    }
    /// All values of a parameter, or a few that are spread over it.
    static std::vector<Value> values_of(const Distribution& distribution) {
        constexpr std::uint64_t most = 40;
        const Axis axis{distribution, {}};
        const std::uint64_t count = axis.is_continuous() ? 9 : std::min(axis.size(), most);
        std::vector<Value> values;
        for (std::uint64_t i = 0; i < count; ++i) {
            const double share = static_cast<double>(i) / static_cast<double>(std::max<std::uint64_t>(1, count - 1));
            values.push_back(to_value(distribution, !axis.is_continuous() && axis.size() <= most ? axis.value(i) : axis.value_at(share)));
        }
        return values;
    }

    const Settings& settings_;
    const TrainerInfo& info_;
    Estimator& estimator_;
    std::vector<std::string> same_program_;  ///< names of other studies
    std::optional<std::int64_t> capacity_;
    std::string text_;
    Json json_;
};

/// What earlier runs and estimates have left in the store, if there is one; none is made.
std::unique_ptr<store::StoredPredictions> known_predictions(const Settings& settings) {
    auto found = store::StoredPredictions::of_existing(settings.text("store"));
    if (!found && settings.all().at("store").origin == "command line") {
        const bool is_there = std::filesystem::exists(store::file_of(settings.text("store")));
        std::cerr << "hpo-tune: note: --store " << settings.text("store") << ": "
                  << (is_there ? "no store that can be written here now" : "no store")
                  << "; predictions are neither taken from it nor kept\n";
    }
    return found;
}

/// What all studies of the store have measured on a device, as far as it can be read. Throws Error{store_unavailable} for a store that
/// stays locked.
std::vector<Attempt> measured(const Settings& settings, const std::string& device_name, const store::PatienceOptions& patience) {
    if (device_name.empty()) return {};
    try {
        return store::Snapshot{settings.text("store"), patience}.attempts_on(device_name, History::most_from_other_studies);
    } catch (const Error& error) {
        if (error.code() == Errc::store_unavailable) throw;
        return {};
    }
}

/// What the study has run. Of a trainer that predicts its peaks itself, nothing: they are better than what is learned. Throws
/// Error{store_unavailable} for a store that stays locked.
std::vector<Trial> own_trials(const Settings& settings, const TrainerInfo& info, const store::PatienceOptions& patience) {
    if (!info.peak_sources.empty() && !info.open_ended) return {};
    try {
        store::Snapshot snapshot{settings.text("store"), patience};
        for (const Study& study : snapshot.studies()) {
            if (study.name == settings.description().name) return snapshot.trials(study);
        }
    } catch (const Error& error) {  // no store that can be read; known_predictions tells of one that was named
        if (error.code() == Errc::store_unavailable) throw;
    }
    return {};
}

int estimate(const StudyArguments& arguments, const EstimateOptions& options) {
    Settings settings{arguments};
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    const bool named = settings.all().at("guard").origin == "command line";
    const char* const usual = info.peak_sources.empty() ? "calibrated" : "dry_run";
    const std::string device = estimated_device(settings, info);
    const auto note = [](const std::string& text) { std::cerr << "hpo-tune: note: " << text << "\n"; };
    tell_idle_capability(settings, device, note);
    const auto kept = known_predictions(settings);
    const auto patience = store_patience(settings, [&](const std::string& text) { note(tools::on_one_line(text)); }, {});
    SameProgram same = read_same_program(settings, info, patience);
    Estimator estimator{settings,
                        info,
                        {.guard = named ? settings.text("guard") : usual,
                         .device = device,
                         .capacity_bytes = device_budget(settings),
                         .note = note,
                         .kept = kept.get(),
                         .measured = [&](const std::string& name) { return measured(settings, name, patience); },
                         .trials = own_trials(settings, info, patience),
                         .same_program = std::move(same.trials)}};
    EstimateReport report{settings, info, estimator, std::move(same.studies)};
    const bool whole = options.space || (options.per.empty() && arguments.fix.empty() && estimator.options().capacity_bytes);
    if (options.space && !options.per.empty()) throw Error{Errc::usage, "--space and --per exclude each other"};
    if (!whole && !options.by.empty()) throw Error{Errc::usage, "--by lists the whole space: give --space"};
    if (!whole && !options.within.empty()) throw Error{Errc::usage, "--within bounds a look at the whole space: give --space"};
    if (whole) report.whole_space(options.by, within_seconds(options));
    else report.configuration();
    if (!options.per.empty()) report.per_value(options.per);
    report.print(options.json);
    return estimator.predicted_nothing() ? exit_code(Errc::plugin) : 0;
}

}  // namespace

void add_estimate(tools::CommandLine& line) {
    auto* command = line.add("estimate", "Predict the peak of a configuration, or which part of a space fits a device");
    show_card_option(command);
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<EstimateOptions>();
    add_study_arguments(command, arguments,
                        {"store", "store-wait", "guard", "device", "device-memory", "compute-capability", "plugin-timeout"});
    command->add_option("--per", options->per, "the largest micro-batch that fits, for each value of this parameter")
        ->type_name("NAME")
        ->check(not_empty("NAME"));
    command->add_flag("--space", options->space,
                      "look at the whole space: what fits as it is, what fits with a smaller micro-batch, and what never fits");
    command->add_option("--by", options->by, "the categorical parameter that --space lists by (default: the first that branches)")
        ->type_name("NAME")
        ->check(not_empty("NAME"));
    command->add_option("--within", options->within, "how long --space may take")
        ->type_name("DURATION")
        ->default_str(standard_within)
        ->check(not_empty("DURATION"));
    command->add_flag("--json", options->json, "as JSON");
    command->footer(
        "What an unchanged PyTorch program takes, on a card that is not there: hpo-tune estimate OPTIONS -- python train.py\n"
        "(its options: hpo-tune estimate --help --).\n"
        "Without --guard it asks dry_run, whatever guard the script names, or calibrated if the trainer has neither a dry run nor a "
        "probe.\n"
        "If --device-memory or the script's device_memory gives a size, and without --fix and --per, it looks at the whole space. In one\n"
        "configuration, parameters that are not fixed take the trainer's standard value, the first choice or the middle. Predictions are\n"
        "read from the store of a run (--store) and kept there; estimate never makes a store, since the path may be mistyped. Nothing is\n"
        "trained, and the device need not exist:\n"
        "  hpo-tune estimate study.lua --device cuda --device-memory 23.56GiB --fix tok.max_length=256 --per train.batch_size\n" +
        std::string{exit_codes});
    line.on(command, [arguments, options] { return estimate(*arguments, *options); });
}

}  // namespace hpo::tune
