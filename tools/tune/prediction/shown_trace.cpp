// SPDX-License-Identifier: MIT
#include "tune/prediction/shown_trace.hpp"

#include <algorithm>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::tune {
namespace {

using tools::Json;
using tools::Page;
using tools::Table;

std::string libtorch_name(const allocator::AllocatorSettings& settings) { return "LibTorch " + to_text(settings.version); }
std::string scope_name(const allocator::ScopeShare& share) { return share.scope.empty() ? "(no scope)" : share.scope; }

std::string capacity_text(const ShownTrace& shown, const TraceFigures& figures) {
    const allocator::ReplayedTrace& replay = figures.at_capacity;
    std::string text = "with " + format_bytes(*figures.capacity_bytes) + " for the allocator: ";
    if (!replay.refused) {
        return text + (replay.counts.retries == 0 ? "it fits"
                                                  : "it fits, after the cache was emptied " +
                                                        tools::counted(static_cast<std::size_t>(replay.counts.retries), "time"));
    }
    const allocator::RefusedRequest& refused = *replay.refused;
    const std::string phase{allocator::phase_of(shown.trace, refused.event)};
    const std::string& scope = shown.trace.scopes[shown.trace.blocks[refused.block].scope];
    return text + "out of memory at event " + std::to_string(refused.event + 1) + (phase.empty() ? "" : ", " + phase) +
           (scope.empty() ? "" : ", " + scope) + ": " + format_bytes(refused.requested) + " asked for, with " +
           format_bytes(refused.allocated) + " allocated and " + format_bytes(refused.reserved) + " reserved";
}

}  // namespace

TraceFigures::TraceFigures(const ShownTrace& shown, const TraceOptions& options)
    : peak{allocator::moment_after(shown.trace, allocator::requested_peak(shown.trace).event)},
      phases{allocator::phase_peaks(shown.trace)},
      need{allocator::capacity_need(shown.trace, shown.settings)} {
    if (options.capacity.empty()) return;
    capacity_bytes = require_bytes("--capacity", options.capacity);
    if (*capacity_bytes < 1) throw bad_value("--capacity", "'" + options.capacity + "'", "a size above 0, such as 8GiB");
    at_capacity = allocator::simulate(shown.trace, shown.settings, {.total_bytes = *capacity_bytes});
}

void print_json(const ShownTrace& shown, const TraceFigures& figures, const TraceOptions& options) {
    const auto parts = [](const allocator::PartBytes& bytes) {
        Json json;
        for (std::size_t part = 0; part < bytes.size(); ++part) json[std::string{allocator::trace_part_names[part]}] = bytes[part];
        return json;
    };
    const allocator::AllocatorCounts& counts = figures.need.unlimited.counts;
    Json json{{"name", shown.name},
              {"recorded_with", tools::text_or_null(shown.trace.libtorch)},
              {"blocks", shown.trace.blocks.size()},
              {"events", shown.trace.events.size()},
              {"peak",
               {{"bytes", figures.peak.bytes},
                {"event", figures.peak.event},
                {"phase", figures.peak.phase},
                {"blocks", figures.peak.blocks},
                {"parts", parts(figures.peak.parts)}}}};
    json["peak"]["scopes"] = Json::array();
    for (std::size_t i = 0; i < std::min(options.top, figures.peak.scopes.size()); ++i) {
        const allocator::ScopeShare& share = figures.peak.scopes[i];
        json["peak"]["scopes"].push_back(
            {{"scope", share.scope}, {"blocks", share.blocks}, {"bytes", share.bytes}, {"parts", parts(share.parts)}});
    }
    json["phases"] = Json::array();
    for (const allocator::PhasePeak& phase : figures.phases) {
        json["phases"].push_back({{"phase", phase.phase}, {"times", phase.times}, {"bytes", phase.bytes}, {"event", phase.event}});
    }
    json["allocator"] = {{"libtorch", to_text(shown.settings.version)},
                         {"requested_bytes", counts.requested_peak},
                         {"allocated_bytes", counts.allocated_peak},
                         {"reserved_bytes", counts.reserved_peak},
                         {"fragmentation", figures.need.unlimited.fragmentation()},
                         {"need_bytes", figures.need.need},
                         {"comfort_bytes", figures.need.comfort}};
    json["prediction"] = nullptr;
    if (const auto& prediction = shown.prediction) {
        json["prediction"] = {{"need_bytes", prediction->need},
                              {"comfort_bytes", prediction->comfort},
                              {"uncertainty", prediction->uncertainty},
                              {"upper_bound", prediction->upper_bound},
                              {"remark", prediction->remark}};
    }
    json["measured"] = nullptr;
    if (const auto& measured = shown.measured) {
        json["measured"] = {{"allocated_bytes", tools::or_null(measured->peak_allocated)},
                            {"reserved_bytes", tools::or_null(measured->peak_reserved)}};
    }
    json["at_capacity"] = nullptr;
    if (figures.capacity_bytes) {
        const auto& refused = figures.at_capacity.refused;
        json["at_capacity"] = {{"capacity_bytes", *figures.capacity_bytes},
                               {"survives", !refused},
                               {"retries", figures.at_capacity.counts.retries},
                               {"refused_event", refused ? Json(refused->event) : Json(nullptr)},
                               {"refused_bytes", refused ? Json(refused->requested) : Json(nullptr)}};
    }
    tools::print(json);
}

void print_text(const ShownTrace& shown, const TraceFigures& figures, const TraceOptions& options) {
    const Page page = Page::standard_output();
    const allocator::TraceMoment& peak = figures.peak;
    if (!shown.origin.empty()) {
        page.out() << shown.origin << (options.out.empty() ? "" : "trace written to " + options.out + "\n");
        page.line();
    }
    page.line(tools::counted(shown.trace.blocks.size(), "block") + ", " + std::to_string(shown.trace.events.size()) +
              " allocations and frees" + (shown.trace.libtorch.empty() ? "" : ", recorded with LibTorch " + shown.trace.libtorch));
    page.line("peak " + format_bytes(peak.bytes) + " after event " + std::to_string(peak.event + 1) +
              (peak.phase.empty() ? "" : ", " + peak.phase));
    page.line();
    using Align = Table::Align;
    std::vector<Table::Column> columns;
    for (const std::string_view part : allocator::trace_part_names) columns.push_back({std::string{part}, Align::right});
    columns.push_back({"in all", Align::right});
    columns.push_back({"blocks", Align::right});
    columns.push_back({"alive at the peak"});
    Table scopes{columns, Table::Last::wrap};
    const auto add = [&](const std::string& name, const allocator::ScopeShare& share) {
        std::vector<std::string> cells;
        for (const std::int64_t bytes : share.parts) cells.push_back(bytes == 0 ? "" : format_bytes(bytes));
        cells.push_back(format_bytes(share.bytes));
        cells.push_back(std::to_string(share.blocks));
        cells.push_back(name);
        scopes.row(cells);
    };
    allocator::ScopeShare rest;
    for (std::size_t i = 0; i < peak.scopes.size(); ++i) {
        const allocator::ScopeShare& share = peak.scopes[i];
        if (i < options.top) {
            add(scope_name(share), share);
            continue;
        }
        rest.blocks += share.blocks;
        rest.bytes += share.bytes;
        for (std::size_t part = 0; part < rest.parts.size(); ++part) rest.parts[part] += share.parts[part];
    }
    if (rest.blocks > 0) add("(" + std::to_string(peak.scopes.size() - options.top) + " more scopes)", rest);
    if (peak.scopes.size() != 1) add("together", {"", peak.blocks, peak.bytes, peak.parts});
    scopes.print(page);
    page.line();
    Table phases{{{"phase"}, {"times", Align::right}, {"peak", Align::right}}};
    for (const allocator::PhasePeak& phase : figures.phases)
        phases.row({phase.phase, std::to_string(phase.times), format_bytes(phase.bytes)});
    phases.print(page);
    page.line();
    const allocator::AllocatorCounts& counts = figures.need.unlimited.counts;
    page.line("with the CUDA allocator of " + libtorch_name(shown.settings) + ": allocated " + format_bytes(counts.allocated_peak) +
              ", reserved " + format_bytes(counts.reserved_peak) + "; " + tools::percent(figures.need.unlimited.fragmentation()) +
              " of what was reserved at the allocated peak was unused");
    page.line("least capacity " + format_bytes(figures.need.need) + "; " + format_bytes(figures.need.comfort) +
              " without emptying its cache");
    if (figures.capacity_bytes) page.line(capacity_text(shown, figures));
    if (shown.measured && shown.measured->peak_allocated) {
        page.line("measured: allocated " + format_bytes(*shown.measured->peak_allocated) +
                  (shown.measured->peak_reserved ? ", reserved " + format_bytes(*shown.measured->peak_reserved) : ""));
    }
    if (const auto& prediction = shown.prediction) {
        page.paragraph("the trainer predicts that " + format_bytes(prediction->need) + " are required, and " +
                       format_bytes(prediction->comfort) + " without emptying the cache" +
                       (prediction->remark.empty() ? "" : ": " + prediction->remark));
    }
}

}  // namespace hpo::tune
