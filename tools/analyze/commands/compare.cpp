// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <memory>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/comparable.hpp"
#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/objectives.hpp"
#include "hpo/analysis/summary.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

struct CompareOptions {
    std::vector<std::string> studies;  ///< by name; empty: all of the store
    std::int64_t from = 0;             ///< number of the first trial that counts
};

/// What is set side by side for one study. Figures that its program did not keep are absent: others than ours know no attempts.
struct Column {
    StudyData data;
    hpo::analysis::Summary summary;
    std::optional<std::size_t> attempts;          ///< launched
    std::optional<double> attempt_seconds;        ///< of all attempts whose time is known together
    std::optional<std::size_t> in_micro_batches;  ///< trials whose first attempt began with less than the whole batch
    std::optional<std::size_t> refused;
    std::optional<double> lost_seconds;  ///< to failures of any kind
};

Column column(StudyData data, std::int64_t from) {
    std::erase_if(data.trials, [from](const hpo::Trial& trial) { return trial.number < from; });
    Column made{.data = std::move(data),
                .summary = {.totals = {}, .best = {}, .first_start = {}, .last_end = {}},
                .attempts = {},
                .attempt_seconds = {},
                .in_micro_batches = {},
                .refused = {}};
    const std::vector<hpo::Trial>& trials = made.data.trials;  // the reports point into it, and moving it leaves it where it is
    made.summary = hpo::analysis::summarise(made.data.study, trials, made.data.rejections, {}, made.data.context());
    const hpo::analysis::FailureTotals& totals = made.summary.totals;
    made.lost_seconds = lost_seconds(totals);
    const auto prevented = totals.others.find("prevented");
    const std::size_t refused = made.summary.rejections + (prevented == totals.others.end() ? 0 : prevented->second.count);
    if (std::ranges::any_of(trials, [](const hpo::Trial& trial) { return !trial.attempts.empty(); })) {
        std::size_t smaller = 0;
        std::optional<double> seconds;
        for (const hpo::Trial& trial : trials) {
            for (const hpo::Attempt& attempt : trial.attempts) hpo::analysis::add_known(seconds, attempt.seconds);
            if (!trial.attempts.empty() && trial.attempts.front().plan.accumulation_steps() > 1) ++smaller;
        }
        made.attempts = totals.attempts;
        made.attempt_seconds = seconds;
        made.in_micro_batches = smaller;
        made.refused = refused;
    } else if (refused > 0) {
        made.refused = refused;
    }
    if (from > 0) made.refused.reset();  // a refused proposal has no number
    return made;
}

Json column_json(const Column& of) {
    Json directions = Json::array();
    for (const hpo::Direction direction : of.data.study.directions) directions.push_back(to_text(direction));
    Json best = Json::array();
    for (const hpo::Trial* trial : of.summary.best) {
        Json values = Json::array();
        for (const double value : hpo::analysis::with_mean(of.data.trials, *trial).values) values.push_back(to_json(value));
        best.push_back({{"trial", trial->number}, {"values", std::move(values)}});
    }
    Json causes = Json::object();
    for (const auto& [cause, tally] : of.summary.totals.causes) causes[std::string{to_text(cause)}] = tally.count;
    const auto& peak = of.summary.totals.highest_peak;
    return {{"study", of.data.study.name},
            {"directions", std::move(directions)},
            {"metrics", Objectives{of.data.study}.json()},
            {"trials", of.summary.totals.trials},
            {"complete", of.summary.totals.complete},
            {"pruned", of.summary.totals.pruned},
            {"failed", of.summary.totals.failed},
            {"interrupted", of.summary.totals.interrupted},
            {"running_without_run", of.summary.totals.abandoned_running},
            {"infeasible", of.summary.totals.infeasible},
            {"attempts", or_null(of.attempts)},
            {"oom_attempts", of.summary.totals.oom_attempts},
            {"oom_share", of.attempts && *of.attempts > 0
                              ? Json(static_cast<double>(of.summary.totals.oom_attempts) / static_cast<double>(*of.attempts))
                              : Json(nullptr)},
            {"oom_trials", of.summary.totals.oom_trials},
            {"recovered_trials", of.summary.totals.recovered_trials},
            {"causes", std::move(causes)},
            {"lost_seconds", or_null(of.lost_seconds)},
            {"in_micro_batches", or_null(of.in_micro_batches)},
            {"refused_before_launch", or_null(of.refused)},
            {"wall_seconds", or_null(of.summary.wall_seconds())},
            {"attempt_seconds", or_null(of.attempt_seconds)},
            {"best", std::move(best)},
            {"highest_peak_bytes", peak ? Json(peak->bytes) : Json(nullptr)},
            {"capacity_bytes", or_null(of.summary.totals.capacity_bytes)}};
}

template <class T>
std::string number_or_dash(const std::optional<T>& value) {
    return value ? std::to_string(*value) : "-";
}

std::string best_text(const Column& of) {
    if (of.summary.best.empty()) return "-";
    if (of.data.study.directions.size() > 1) return counted(of.summary.best.size(), "trial") + " in front";
    const hpo::Trial best = hpo::analysis::with_mean(of.data.trials, *of.summary.best.front());
    return Objectives{of.data.study}.value_text(0, best.values[0]) + " (trial " + std::to_string(best.number) + ")";
}

/// Says that there is no best value to compare, and why; empty if there is one.
std::string note_without_best(const Column& of, std::int64_t from) {
    if (!of.summary.best.empty()) return {};
    const std::string study = "Study '" + of.data.study.name + "' has no ";
    const std::string range = from > 0 ? " from number " + std::to_string(from) + " on" : "";
    if (of.summary.totals.trials == 0) return study + "trial" + range + ".";
    if (of.summary.totals.complete == 0) return study + "complete trial" + range + ", so it has no best value.";
    return study + "complete and feasible trial with a finite value" + range + ", so it has no best value.";
}

/// Says that the best value may be a penalty for an out-of-memory; empty if it is none.
std::string note_of_doubtful_best(const Column& of) {
    const auto is_doubtful = [&](const hpo::Trial* trial) { return of.summary.doubtful.contains(trial); };
    if (std::ranges::none_of(of.summary.best, is_doubtful)) return {};
    const std::string text = "Among the best of study '" + of.data.study.name + "' are trials that ran out of memory by their own message";
    if (of.data.study.directions.size() > 1) return text + ".";
    if (of.summary.best_without.empty()) return text + ". No other is complete.";
    const hpo::Trial& other = *of.summary.best_without.front();
    return text + ". Without them the best is " + Objectives{of.data.study}.value_text(0, other.values[0]) + " (trial " +
           std::to_string(other.number) + ").";
}

std::string oom_text(const Column& of) {
    std::string text = std::to_string(of.summary.totals.oom_attempts);
    if (of.attempts && *of.attempts > 0)
        text += " (" + percent(static_cast<double>(of.summary.totals.oom_attempts) / static_cast<double>(*of.attempts)) + ")";
    return text;
}

std::string peak_text(const Column& of) {
    if (!of.summary.totals.highest_peak) return "-";
    std::string text = hpo::format_bytes(of.summary.totals.highest_peak->bytes);
    if (const auto share = of.summary.totals.peak_share()) text += " (" + percent(*share) + ")";
    return text;
}

std::string count_text(std::size_t count) { return std::to_string(count); }

struct Row {
    std::string label;
    std::function<std::string(const Column&)> cell;
    bool only_where_any = false;  ///< left out where all studies have 0
};

std::vector<Row> rows(const std::string& best_label) {
    return {{"trials", [](const Column& of) { return count_text(of.summary.totals.trials); }},
            {"  complete", [](const Column& of) { return count_text(of.summary.totals.complete); }},
            {"  pruned", [](const Column& of) { return count_text(of.summary.totals.pruned); }},
            {"  failed", [](const Column& of) { return count_text(of.summary.totals.failed); }},
            {"  interrupted", [](const Column& of) { return count_text(of.summary.totals.interrupted); }},
            {"  RUNNING, their run is gone", [](const Column& of) { return count_text(of.summary.totals.abandoned_running); }, true},
            {"  infeasible", [](const Column& of) { return count_text(of.summary.totals.infeasible); }},
            {"attempts", [](const Column& of) { return number_or_dash(of.attempts); }},
            {"  out of memory", oom_text},
            {"trials that ran out of memory", [](const Column& of) { return count_text(of.summary.totals.oom_trials); }},
            {"  recovered", [](const Column& of) { return count_text(of.summary.totals.recovered_trials); }},
            {"lost to failures", [](const Column& of) { return duration_or_dash(of.lost_seconds); }},
            {"begun in micro-batches", [](const Column& of) { return number_or_dash(of.in_micro_batches); }},
            {"refused before launch", [](const Column& of) { return number_or_dash(of.refused); }},
            {"from first start to last end", [](const Column& of) { return duration_or_dash(of.summary.wall_seconds()); }},
            {"all attempts together", [](const Column& of) { return duration_or_dash(of.attempt_seconds); }},
            {best_label, best_text},
            {"highest peak", peak_text}};
}

/// What all of them optimise: the first that has names says it.
Objectives common_objectives(const std::vector<Column>& all) {
    for (const Column& of : all) {
        if (Objectives objectives{of.data.study}; !objectives.names().empty()) return objectives;
    }
    return Objectives{all.front().data.study};
}

/// Studies side by side as far as the page is wide, the others below.
void print_text(const Page& page, const std::vector<Column>& all) {
    const Objectives objectives = common_objectives(all);
    std::vector<Row> table_rows = rows(objectives.names().size() == 1 ? "best " + objectives.names().front() : "best");
    std::erase_if(table_rows, [&](const Row& row) {
        return row.only_where_any && std::ranges::all_of(all, [&](const Column& of) { return row.cell(of) == "0"; });
    });
    std::size_t label_width = 0;
    for (const Row& row : table_rows) label_width = std::max(label_width, columns(row.label));
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        std::size_t width = 2 + label_width;
        for (end = begin; end < all.size(); ++end) {
            std::size_t widest = columns(all[end].data.study.name);
            for (const Row& row : table_rows) widest = std::max(widest, columns(row.cell(all[end])));
            width += 2 + widest;
            if (width > page.width() && end > begin) break;
        }
        std::vector<Table::Column> heads{{""}};
        for (std::size_t i = begin; i < end; ++i) heads.push_back({all[i].data.study.name, Table::Align::right});
        Table table{std::move(heads)};
        for (const Row& row : table_rows) {
            std::vector<std::string> cells{row.label};
            for (std::size_t i = begin; i < end; ++i) cells.push_back(row.cell(all[i]));
            table.row(std::move(cells));
        }
        if (begin > 0) page.line();
        table.print(page, 2);
    }
}

std::vector<StudyData> read_named(const Query& query, const CompareOptions& options) {
    if (!query.study.empty()) throw hpo::bad_value("compare", "--study " + query.study, "names of studies as words: compare A B");
    std::vector<StudyData> found;
    if (options.studies.empty()) {
        found = read_studies(query);
    } else {
        for (const std::string& name : options.studies) {
            if (std::ranges::any_of(found, [&](const StudyData& data) { return data.study.name == name; }))
                throw hpo::bad_value("compare", "study '" + name + "' twice", "each study once");
            Query one = query;
            one.study = name;
            found.push_back(read_study(one));
        }
    }
    if (found.size() < 2) {
        const std::string got = found.empty() ? "no study" : "one study, '" + found.front().study.name + "'";
        throw hpo::bad_value("compare", got, "two studies of '" + query.store + "' or more");
    }
    return found;
}

void compare(const Query& query, const CompareOptions& options) {
    std::vector<StudyData> studies = read_named(query, options);
    require_comparable(query.store, studies, known_studies(query));
    std::vector<std::string> notes = comparison_notes(studies);
    std::vector<Column> all;
    for (StudyData& data : studies) all.push_back(column(std::move(data), options.from));
    for (const Column& of : all) {
        if (std::string note = note_without_best(of, options.from); !note.empty()) notes.push_back(std::move(note));
        if (std::string note = note_of_doubtful_best(of); !note.empty()) notes.push_back(std::move(note));
    }
    if (query.json) {
        Json list = Json::array();
        for (const Column& of : all) list.push_back(column_json(of));
        print({{"from_trial", options.from}, {"studies", std::move(list)}, {"notes", notes}});
        return;
    }
    const Page page = Page::standard_output();
    page.heading("Studies (" + common_objectives(all).text() + ") in " + query.store +
                 (options.from > 0 ? ", trials from number " + std::to_string(options.from) + " on" : ""));
    print_text(page, all);
    for (const std::string& note : notes) page.paragraph("  Note: " + note, 8);
}

}  // namespace

void add_compare(tools::CommandLine& line, Query& query) {
    auto* command = line.add("compare", "studies of one store side by side: trials, failures, time, best value, memory");
    auto options = std::make_shared<CompareOptions>();
    command->add_option("STUDY", options->studies, "names of studies (default: all of the store)");
    command->add_option("--from", options->from, "count only trials from this number on")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
        ->capture_default_str();
    line.on(command, [&query, options] {
        compare(query, *options);
        return 0;
    });
}

}  // namespace hpo::analyze
