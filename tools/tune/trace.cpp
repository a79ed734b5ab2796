// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "hpo/core/new_file.hpp"
#include "hpo/memory/allocator_conf.hpp"
#include "hpo/memory/allocator_replay.hpp"
#include "hpo/memory/capacity_need.hpp"
#include "hpo/memory/trace_file.hpp"
#include "hpo/memory/trace_report.hpp"
#include "hpo/memory/trace_timeline.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/worker/pool.hpp"
#include "proposals.hpp"
#include "settings.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "surroundings.hpp"

namespace hpo::tune {
namespace {

using tools::Json;
using tools::Page;
using tools::Table;

struct TraceOptions {
    std::string out;        ///< where a script's trace is kept; empty: nowhere
    std::string svg;        ///< where the timeline goes; empty: nowhere
    std::string libtorch;   ///< whose allocator; empty: the trainer's, else the newest that is known
    std::string allocator;  ///< its settings
    std::string capacity;   ///< a device to hold the trace against
    std::size_t top = 15;   ///< scopes that are shown
    bool json = false;
};

/// A trace, and which LibTorch's allocator it is for.
struct Shown {
    std::string name;
    memory::AllocationTrace trace;
    memory::AllocatorSettings settings;
    std::optional<PeakPrediction> prediction{};  ///< what the trainer makes of it, where it was asked
};

bool is_trace(const std::string& file) {
    std::array<char, memory::trace_file_magic.size()> begin{};
    std::ifstream input{file, std::ios::binary};
    return input.read(begin.data(), begin.size()) && std::string_view{begin.data(), begin.size()} == memory::trace_file_magic;
}

memory::AllocatorSettings allocator_of(const TraceOptions& options, const std::string& trainers_version, const std::string& entries) {
    const std::string& version_text = options.libtorch.empty() ? trainers_version : options.libtorch;
    const auto version = version_text.empty() ? memory::LibTorchVersion{} : memory::parse_libtorch_version(version_text);
    if (!version) throw bad_value("--libtorch", "'" + version_text + "'", "a version such as 2.11");
    return options.allocator.empty() ? memory::read_allocator_conf(entries, *version, "plan.allocator_settings")
                                     : memory::read_allocator_conf(options.allocator, *version, "--allocator");
}

/// "cpu" or "cuda:N"; a dry run for CUDA needs no card.
std::string target_device(const Settings& settings, const TrainerInfo& info) {
    const std::string& text = settings.text("device");
    return text == "cuda" ? "cuda:0" : text.starts_with("cuda:") ? text : chosen_device(settings, info);
}

Shown record(const StudyArguments& arguments, const TraceOptions& options) {
    const Settings settings{arguments};
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    const Seed seed{static_cast<std::uint64_t>(settings.whole("seed", 0))};
    const ParamSet params = suggest_params(random, settings.script().space(), TrialContext{0, nothing}, seed, settings.fixed());
    const ExecutionPlan plan = first_plan(settings, info, params, target_device(settings, info));
    worker::Pool pool{{.worker_program = worker_program(),
                       .trainer = info.name,
                       .plugin_folders = plugin_folders(arguments.plugin_dirs),
                       .options = {settings.description().trainer_options.begin(), settings.description().trainer_options.end()},
                       .metric = settings.description().objectives[0].metric,
                       .start_timeout = settings.plugin_timeout()}};
    std::filesystem::path file = options.out;
    if (options.out.empty()) file = std::filesystem::temp_directory_path() / ("hpo-tune-" + std::to_string(::getpid()) + ".trace");
    const worker::MemoryQuestions::Told told = pool.trace(params, plan, file);
    if (!told.prediction) throw Error{Errc::plugin, "trainer " + info.name + ": dry run: " + told.why_not};
    if (!std::filesystem::exists(file)) throw Error{Errc::plugin, "trainer " + info.name + ": its dry run wrote no trace"};
    Shown shown{.name = settings.description().name, .trace = memory::read_trace(file), .settings = {}, .prediction = told.prediction};
    if (options.out.empty()) std::filesystem::remove(file);
    shown.settings = allocator_of(options, info.libtorch_version, plan.allocator_settings);
    if (plan.expandable_segments && shown.settings.version >= memory::LibTorchVersion{2, 1}) shown.settings.expandable_segments = true;
    if (options.json) return shown;
    std::cout << "dry run of " << shown.name << " with trainer " << info.name << " for " << plan.device << "\n";
    for (const Param& param : params) std::cout << "  " << param.name << " = " << display_text(param.value()) << "\n";
    if (plan.effective_batch) {
        std::cout << "  run as " << plan.accumulation_steps() << " x micro-batch " << *plan.effective_micro_batch() << "\n";
    }
    if (!options.out.empty()) std::cout << "trace written to " << options.out << "\n";
    std::cout << "\n";
    return shown;
}

std::string libtorch_name(const memory::AllocatorSettings& settings) {
    return "LibTorch " + std::to_string(settings.version.major) + "." + std::to_string(settings.version.minor);
}
std::string scope_name(const memory::ScopeShare& share) { return share.scope.empty() ? "(no scope)" : share.scope; }

/// What a trace's figures are, from the trace to the device.
struct Figures {
    memory::TraceMoment peak;
    std::vector<memory::PhasePeak> phases;
    memory::CapacityNeed need;
    std::optional<std::int64_t> capacity_bytes;
    memory::ReplayedTrace at_capacity;

    Figures(const Shown& shown, const TraceOptions& options)
        : peak{memory::moment_after(shown.trace, memory::requested_peak(shown.trace).event)},
          phases{memory::phase_peaks(shown.trace)},
          need{memory::capacity_need(shown.trace, shown.settings)} {
        if (options.capacity.empty()) return;
        capacity_bytes = require_bytes("--capacity", options.capacity);
        at_capacity = memory::simulate(shown.trace, shown.settings, {.total_bytes = *capacity_bytes});
    }
};

void print_json(const Shown& shown, const Figures& figures, const TraceOptions& options) {
    const auto parts = [](const memory::PartBytes& bytes) {
        Json json;
        for (std::size_t part = 0; part < bytes.size(); ++part) json[std::string{memory::trace_part_names[part]}] = bytes[part];
        return json;
    };
    const memory::AllocatorCounts& counts = figures.need.unlimited.counts;
    Json json{{"name", shown.name},
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
        const memory::ScopeShare& share = figures.peak.scopes[i];
        json["peak"]["scopes"].push_back(
            {{"scope", share.scope}, {"blocks", share.blocks}, {"bytes", share.bytes}, {"parts", parts(share.parts)}});
    }
    json["phases"] = Json::array();
    for (const memory::PhasePeak& phase : figures.phases) {
        json["phases"].push_back({{"phase", phase.phase}, {"times", phase.times}, {"bytes", phase.bytes}, {"event", phase.event}});
    }
    json["allocator"] = {{"libtorch", libtorch_name(shown.settings).substr(9)},
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
                              {"remark", prediction->remark}};
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

std::string capacity_text(const Shown& shown, const Figures& figures) {
    const memory::ReplayedTrace& replay = figures.at_capacity;
    std::string text = "with " + format_bytes(*figures.capacity_bytes) + " for the allocator: ";
    if (!replay.refused) {
        return text + (replay.counts.retries == 0 ? "it fits"
                                                  : "it fits, after the cache was emptied " +
                                                        tools::counted(static_cast<std::size_t>(replay.counts.retries), "time"));
    }
    const memory::RefusedRequest& refused = *replay.refused;
    const std::string phase{memory::phase_of(shown.trace, refused.event)};
    const std::string& scope = shown.trace.scopes[shown.trace.blocks[refused.block].scope];
    return text + "out of memory at event " + std::to_string(refused.event + 1) + (phase.empty() ? "" : ", " + phase) +
           (scope.empty() ? "" : ", " + scope) + ": " + format_bytes(refused.requested) + " asked for, with " +
           format_bytes(refused.allocated) + " allocated and " + format_bytes(refused.reserved) + " reserved";
}

void print_text(const Shown& shown, const Figures& figures, const TraceOptions& options) {
    const Page page = Page::standard_output();
    const memory::TraceMoment& peak = figures.peak;
    page.line(tools::counted(shown.trace.blocks.size(), "block") + ", " + std::to_string(shown.trace.events.size()) +
              " allocations and frees");
    page.line("peak " + format_bytes(peak.bytes) + " after event " + std::to_string(peak.event + 1) +
              (peak.phase.empty() ? "" : ", " + peak.phase));
    page.line();
    using Align = Table::Align;
    std::vector<Table::Column> columns;
    for (const std::string_view part : memory::trace_part_names) columns.push_back({std::string{part}, Align::right});
    columns.push_back({"in all", Align::right});
    columns.push_back({"blocks", Align::right});
    columns.push_back({"alive at the peak"});
    Table scopes{columns};
    const auto add = [&](const std::string& name, const memory::ScopeShare& share) {
        std::vector<std::string> cells;
        for (const std::int64_t bytes : share.parts) cells.push_back(bytes == 0 ? "" : format_bytes(bytes));
        cells.push_back(format_bytes(share.bytes));
        cells.push_back(std::to_string(share.blocks));
        cells.push_back(name);
        scopes.row(cells);
    };
    memory::ScopeShare rest;
    for (std::size_t i = 0; i < peak.scopes.size(); ++i) {
        const memory::ScopeShare& share = peak.scopes[i];
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
    for (const memory::PhasePeak& phase : figures.phases) phases.row({phase.phase, std::to_string(phase.times), format_bytes(phase.bytes)});
    phases.print(page);
    page.line();
    const memory::AllocatorCounts& counts = figures.need.unlimited.counts;
    page.line("with the CUDA allocator of " + libtorch_name(shown.settings) + ": allocated " + format_bytes(counts.allocated_peak) +
              ", reserved " + format_bytes(counts.reserved_peak) + "; " + tools::percent(figures.need.unlimited.fragmentation()) +
              " of what was reserved at the allocated peak was unused");
    page.line("least capacity " + format_bytes(figures.need.need) + "; " + format_bytes(figures.need.comfort) +
              " without emptying its cache");
    if (figures.capacity_bytes) page.line(capacity_text(shown, figures));
    if (const auto& prediction = shown.prediction) {
        page.paragraph("the trainer predicts a need of " + format_bytes(prediction->need) + " and comfort at " +
                       format_bytes(prediction->comfort) + (prediction->remark.empty() ? "" : ": " + prediction->remark));
    }
}

int trace(const StudyArguments& arguments, const TraceOptions& options) {
    const Shown shown = is_trace(arguments.script) ? Shown{std::filesystem::path{arguments.script}.filename().string(),
                                                           memory::read_trace(arguments.script), allocator_of(options, "", "")}
                                                   : record(arguments, options);
    const Figures figures{shown, options};
    if (!options.svg.empty()) {
        const std::string svg = memory::timeline_svg(shown.trace, shown.name);
        NewFile file{options.svg};
        file.write(std::as_bytes(std::span{svg}));
        file.commit();
    }
    if (options.json) print_json(shown, figures, options);
    else print_text(shown, figures, options);
    return 0;
}

}  // namespace

void add_trace(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("trace", "Show what takes the memory of one configuration, allocation by allocation");
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<TraceOptions>();
    add_study_arguments(command, arguments, {"device", "seed", "plugin-timeout"});
    command->get_option("SCRIPT")->description("the study script (Lua), whose dry run is recorded; or a trace that was written before");
    command->add_option("--out", options->out, "keep the trace in this file")->type_name("FILE");
    command->add_option("--svg", options->svg, "draw the timeline into this file")->type_name("FILE");
    command->add_option("--libtorch", options->libtorch, "replay the allocator of this version; the trainer's when left out")
        ->type_name("VERSION");
    command->add_option("--allocator", options->allocator, "its settings, as in PYTORCH_CUDA_ALLOC_CONF; the plan's when left out")
        ->type_name("KEY:VALUE,...");
    command->add_option("--capacity", options->capacity, "say whether it fits so much memory, and which allocation would not")
        ->type_name("SIZE");
    command->add_option("--top", options->top, "scopes that are shown")->capture_default_str();
    command->add_flag("--json", options->json, "as JSON");
    command->footer("Parameters that are not fixed are drawn at random (--seed). Nothing is trained, and no device is touched.");
    actions.on(command, [arguments, options] { return trace(*arguments, *options); });
}

}  // namespace hpo::tune
