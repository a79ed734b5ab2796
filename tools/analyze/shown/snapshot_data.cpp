// SPDX-License-Identifier: MIT
#include "analyze/shown/snapshot_data.hpp"

#include <array>
#include <iostream>
#include <string_view>

#include "hpo/allocator/snapshot/source_lines.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::allocator::WhatIf;

namespace {

/// A cell of RFC 4180.
std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char each : text) quoted += each == '"' ? std::string{"\"\""} : std::string{each};
    return quoted + "\"";
}

}  // namespace

std::string stack_text(const StackShare& share) {
    std::string text;
    for (const std::string& frame : share.frames) text += (text.empty() ? "" : " < ") + frame;
    return text;
}

hpo::tools::Json snapshot_json(const SnapshotReport& report, const SnapshotOptions& options) {
    const auto& replay = report.recording.replay;
    const auto of_peak = [&](std::int64_t bytes) { return report.state ? Json(nullptr) : Json(bytes); };
    Json json{{"file", report.file},
              {"device", report.recording.device},
              {"devices", report.recording.devices},
              {"events", report.recording.snapshot.events_of(report.recording.device).size()},
              {"settings", or_null(report.recording.snapshot.settings)},
              {"libtorch", to_text(report.recording.settings.version)},
              {"reserved_peak_bytes", of_peak(report.reserved_peak)},
              {"reserved_peak_event", or_null(report.reserved_peak_event)},
              {"allocated_at_reserved_peak_bytes", of_peak(report.allocated_then)},
              {"allocated_peak_bytes", of_peak(report.allocated_peak)},
              {"allocated_peak_event", or_null(report.allocated_peak_event)},
              {"peak_seconds", or_null(report.peak_seconds)}};
    json["out_of_memory"] = nullptr;
    if (const auto& end = report.refused) {
        json["out_of_memory"] = {{"requested_bytes", end->requested},
                                 {"allocated_bytes", end->allocated},
                                 {"reserved_bytes", end->reserved},
                                 {"device_free_bytes", end->device_free},
                                 {"line", end->line},
                                 {"cause", to_text(end->cause)},
                                 {"event", end->event},
                                 {"device_had_room", end->device_had_room},
                                 {"program_went_on", end->went_on},
                                 {"times", end->times}};
    }
    json["replay"] = {{"exact", replay.allocations + replay.refused > 0 ? Json(replay.exact()) : Json(nullptr)},
                      {"allocations", replay.allocations},
                      {"same_address", replay.same_address},
                      {"segment_changes", replay.segment_changes},
                      {"same_segment_changes", replay.same_changes},
                      {"other_segment_changes_of_the_model", replay.other_changes},
                      {"recorded_peak_bytes", replay.recorded_peak},
                      {"model_peak_bytes", replay.model_peak},
                      {"retries", replay.retries},
                      {"retries_or_empty_cache", replay.unexplained},
                      {"refused", replay.refused},
                      {"same_refused", replay.same_refused},
                      {"first_difference_event",
                       replay.first_difference ? Json(report.recording.history.requests[*replay.first_difference].event) : Json(nullptr)}};
    json["refused_from_bytes"] = or_null(report.refused_from);
    json["before_recording"] = {{"blocks", report.earlier_blocks}, {"reserved_bytes", report.recording.history.earlier_reserved_bytes}};
    json["contradictions"] = report.recording.history.contradictions;
    json["private_pools"] = report.private_pools;
    const char* const held = report.state ? "state" : "peak";
    json["peak"] = json["state"] = nullptr;
    json[held] = {{"requested_bytes", report.holders.bytes}, {"blocks", report.holders.blocks}, {"parts", nullptr}};
    if (report.parts_known) {
        Json parts = Json::object();
        for (std::size_t i = 0; i < hpo::allocator::recorded_part_names.size(); ++i)
            parts[std::string{hpo::allocator::recorded_part_names[i]}] = report.holders.parts[i];
        json[held]["parts"] = parts;
    }
    json[held]["lines"] = Json::array();
    for (const auto& each : report.holders.scopes)
        json[held]["lines"].push_back({{"line", each.scope}, {"bytes", each.bytes}, {"blocks", each.blocks}});
    if (options.frames == "all") {
        json[held]["stacks"] = Json::array();
        for (const StackShare& each : report.stacks)
            json[held]["stacks"].push_back({{"frames", each.frames}, {"bytes", each.bytes}, {"blocks", each.blocks}});
    }
    if (const auto& state = report.state) {
        json[held].update({{"reserved_bytes", state->reserved},
                           {"allocated_bytes", state->allocated},
                           {"waiting_bytes", state->waiting},
                           {"unused_bytes", state->unused()},
                           {"largest_unused_bytes", state->largest_unused},
                           {"pools", Json::array()}});
        for (const PoolState& each : state->pools)
            json[held]["pools"].push_back(
                {{"name", each.name}, {"reserved_bytes", each.reserved}, {"unused_bytes", each.unused}, {"segments", each.segments}});
    }
    json["steps"] = Json::array();
    for (const auto& each : report.steps) json["steps"].push_back({{"peak_requested_bytes", each.peak}, {"held_after_bytes", each.held}});
    json["growing"] = Json::array();
    for (const auto& each : report.growing) json["growing"].push_back({{"line", each.scope}, {"bytes_per_step", each.bytes_per_step}});
    json["device_memory_bytes"] = or_null(report.device_bytes);
    json["settings_table"] = Json::array();
    for (const WhatIf& row : report.rows) {
        json["settings_table"].push_back({{"settings", row.conf},
                                          {"reserved_peak_bytes", row.reserved_peak},
                                          {"least_capacity_bytes", row.least_capacity},
                                          {"capacity_without_retry_bytes", row.capacity_without_retry},
                                          {"fits", or_null(row.fits)},
                                          {"retries", or_null(row.retries)}});
    }
    json["worth_setting"] = report.worth_setting ? Json(report.rows[*report.worth_setting].conf) : Json(nullptr);
    json["nothing_proposed_because"] = report.no_advice.empty() ? Json(nullptr) : Json(report.no_advice);
    json["notes"] = report.notes;
    return json;
}

void print_snapshot_csv(const SnapshotReport& report, const std::string& table) {
    std::ostream& out = std::cout;
    if (table == "settings") {
        out << "settings,reserved_peak_bytes,least_capacity_bytes,capacity_without_retry_bytes,fits,retries\n";
        for (const WhatIf& row : report.rows) {
            out << cell(row.conf) << ',' << row.reserved_peak << ',' << row.least_capacity << ',' << row.capacity_without_retry << ','
                << (row.fits ? (*row.fits ? "yes" : "no") : "") << ',' << (row.retries ? std::to_string(*row.retries) : "") << '\n';
        }
    } else if (table == "holders") {
        if (!report.stacks.empty()) {
            out << "stack,bytes,blocks\n";
            for (const StackShare& each : report.stacks) out << cell(stack_text(each)) << ',' << each.bytes << ',' << each.blocks << '\n';
            return;
        }
        out << "line,bytes,blocks\n";
        for (const auto& each : report.holders.scopes) out << cell(each.scope) << ',' << each.bytes << ',' << each.blocks << '\n';
    } else if (table == "steps") {
        out << "step,peak_requested_bytes,held_after_bytes\n";
        for (std::size_t i = 0; i < report.steps.size(); ++i)
            out << i + 1 << ',' << report.steps[i].peak << ',' << report.steps[i].held << '\n';
    } else {
        constexpr std::array<std::string_view, 4> words{"take", "give_back", "empty_cache", "refused"};
        out << "event,request,bytes,line,allocated_bytes,reserved_bytes\n";
        for (std::size_t i = 0; i < report.recording.history.requests.size(); ++i) {
            const auto& request = report.recording.history.requests[i];
            const bool block = request.kind != hpo::allocator::Request::Kind::empty_cache;
            out << request.event << ',' << words[static_cast<std::size_t>(request.kind)] << ','
                << (block ? std::to_string(report.recording.history.blocks[request.block].requested_bytes) : "") << ','
                << (block ? cell(report.recording.trace.scopes[report.recording.trace.blocks[request.block].scope]) : "") << ','
                << report.recording.replay.held[i].allocated << ',' << report.recording.replay.held[i].reserved << '\n';
        }
    }
}

}  // namespace hpo::analyze
