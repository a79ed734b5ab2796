// SPDX-License-Identifier: MIT
#include "analyze/shown/oom_json.hpp"

#include <string>
#include <utility>

#include "analyze/shown/failed_devices.hpp"
#include "analyze/shown/rung_table.hpp"
#include "analyze/shown/silent_page.hpp"
#include "hpo/analysis/failure_cases/own_neighbours.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

using hpo::analysis::OomCase;
using hpo::analysis::OomReport;

Json case_json(const OomCase& entry, const hpo::analysis::OwnNeighbours& neighbours) {
    const auto own = neighbours.of(entry.failed);
    const hpo::Failure& failure = entry.failed.failure;
    const hpo::Attempt* attempt = entry.failed.attempt;
    return {{"trial", entry.failed.trial->number},
            {"attempt", attempt ? Json(attempt->index) : Json(nullptr)},
            {"cause", failure.cause ? Json(to_text(*failure.cause)) : Json("unknown")},
            {"evidence", failure.evidence},
            {"told_in", text_or_null(entry.failed.told_in)},
            {"where", text_or_null(failure.where)},
            {"requested_bytes", or_null(failure.requested_bytes)},
            {"allocated_bytes", or_null(failure.memory.allocated)},
            {"reserved_bytes", or_null(failure.memory.reserved)},
            {"free_bytes", or_null(failure.memory.free)},
            {"capacity_bytes", or_null(failure.memory.capacity)},
            {"predicted_bytes", attempt && attempt->estimate ? or_null(attempt->estimate->need) : Json(nullptr)},
            {"params", to_json(entry.failed.params())},
            {"plan", attempt ? to_json(attempt->plan) : Json(nullptr)},
            {"fix", entry.change ? Json(entry.change->text()) : Json(nullptr)},
            {"fix_basis", entry.change ? Json(to_text(entry.change->basis)) : Json(nullptr)},
            {"fix_witness", entry.change ? or_null(entry.change->witness) : Json(nullptr)},
            {"seconds", or_null(entry.failed.seconds)},
            {"recovered", entry.failed.recovered},
            {"caught", entry.failed.caught},
            {"neighbour_trials", own.numbers},
            {"neighbour_trials_guessed", own.guessed && !own.numbers.empty()}};
}

}  // namespace

Json oom_json(const StudyData& data, const OomReport& report) {
    Json causes = Json::object();
    for (const auto& [cause, tally] : report.causes) causes[std::string{to_text(cause)}] = tally.count;
    Json regions = Json::array();
    for (const auto& region : report.regions) {
        regions.push_back({{"where", describe(region.region)},
                           {"trials", region.trials},
                           {"oom", region.oom},
                           {"rate", region.rate()},
                           {"recovered", region.recovered}});
    }
    Json cases = Json::array();
    const hpo::analysis::OwnNeighbours neighbours{data.trials};
    for (const OomCase& entry : report.cases) cases.push_back(case_json(entry, neighbours));
    Json others = Json::object();
    for (const auto& [name, tally] : report.others) others[name] = tally.count;
    const auto& p = report.prediction;
    return {{"study", data.study.name},
            {"capacity_bytes", or_null(report.capacity_bytes)},
            {"devices", FailedDevices{report}.json()},
            {"trials", report.trials},
            {"ended_trials", report.ended()},
            {"interrupted", report.interrupted},
            {"oom_trials", report.oom_trials},
            {"oom_ended_trials", report.oom_ended},
            {"oom_share", report.ended() > 0 ? Json(report.oom_share()) : Json(nullptr)},
            {"oom_attempts", report.oom_attempts},
            {"recovered_trials", report.recovered_trials},
            {"caught_trials", report.caught_trials},
            {"wasted_seconds", or_null(report.wasted_seconds)},
            {"trial_seconds", report.total_seconds},
            {"causes", std::move(causes)},
            {"regions", std::move(regions)},
            {"cases", std::move(cases)},
            {"prediction",
             {{"attempts", p.attempts},
              {"median_relative_error", or_null(p.median_relative_error)},
              {"underestimated", p.underestimated},
              {"oom_attempts_predicted_to_fit", p.oom_attempts_predicted_to_fit},
              {"oom_attempts_alone", p.oom_attempts_alone},
              {"oom_attempts_without_prediction", p.oom_attempts_without_prediction},
              {"refused_before_launch", p.refused_before_launch}}},
            {"rungs", rung_json(memory_rung_lines(data.trials))},
            {"rule_lua", text_or_null(report.rule_lua)},
            {"rule_python", text_or_null(report.rule_python)},
            {"other_failures", std::move(others)},
            {"highest_peak_bytes", report.highest_peak ? Json(report.highest_peak->bytes) : Json(nullptr)},
            {"silent_failures", report.silent_failures},
            {"uncertain", report.is_uncertain()},
            {"without_message", silent_json(report.silent)},
            {"unexplained_infinite_trials", report.unexplained_infinite},
            {"penalised_trials", report.penalised}};
}

}  // namespace hpo::analyze
