// SPDX-License-Identifier: MIT
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "fixed_parameters.hpp"
#include "hpo/core/new_file.hpp"
#include "hpo/memory/allocator_conf.hpp"
#include "hpo/memory/trace_file.hpp"
#include "hpo/memory/trace_timeline.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/worker/pool.hpp"
#include "private_folder.hpp"
#include "proposals.hpp"
#include "settings.hpp"
#include "shown_trace.hpp"
#include "surroundings.hpp"

namespace hpo::tune {
namespace {

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

/// A trace has been recorded already: what says how to record one is refused.
void require_nothing_to_record(const StudyArguments& arguments, const TraceOptions& options) {
    std::vector<std::string> given;
    const auto note = [&](const std::string& option, bool is_given) {
        if (is_given) given.push_back("--" + option);
    };
    note("set", !arguments.set.empty());
    note("fix", !arguments.fix.empty());
    note("plan", !arguments.plan.empty());
    for (const auto& [word, text] : arguments.words) note(word, true);
    note("out", !options.out.empty());
    if (given.empty()) return;
    throw Error{Errc::usage, arguments.script + ": a trace, which is shown as it was recorded: " + join_names(given) + " " +
                                 (given.size() == 1 ? "is" : "are") + " for a study script"};
}

ShownTrace record(const StudyArguments& arguments, const TraceOptions& options) {
    const Settings settings{arguments};
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    require_fixed(settings);
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    const Seed seed{static_cast<std::uint64_t>(settings.whole("seed", 0))};
    const ParamSet params = suggest_params(random, settings.script().space(), TrialContext{0, nothing}, seed, settings.fixed());
    note_unused_fixed(settings, params);
    const ExecutionPlan plan = first_plan(settings, info, params, estimated_device(settings, info));
    ShownTrace shown;
    shown.name = settings.description().name;
    shown.settings = allocator_of(options, info.libtorch_version, plan.allocator_settings);
    if (plan.expandable_segments && shown.settings.version >= memory::LibTorchVersion{2, 1}) shown.settings.expandable_segments = true;
    worker::Pool pool{question_config(settings, info, plan.device)};
    const PrivateFolder folder;
    const std::filesystem::path file = folder.path() / "trace";
    const worker::MemoryQuestions::Told told = pool.trace(params, plan, file);
    if (!told.prediction) throw Error{Errc::plugin, "trainer " + info.name + ": dry run: " + told.why_not};
    if (!std::filesystem::exists(file)) throw Error{Errc::plugin, "trainer " + info.name + ": its dry run wrote no trace"};
    shown.trace = memory::read_trace(file);
    shown.prediction = told.prediction;
    shown.origin = "dry run of " + shown.name + " with trainer " + info.name + " for " + plan.device + "\n";
    for (const Param& param : params) shown.origin += "  " + param.name + " = " + display_text(param.value()) + "\n";
    if (plan.effective_batch) {
        shown.origin += "  run as " + std::to_string(plan.accumulation_steps()) + " x micro-batch " +
                        std::to_string(*plan.effective_micro_batch()) + "\n";
    }
    return shown;
}

ShownTrace read(const StudyArguments& arguments, const TraceOptions& options) {
    require_nothing_to_record(arguments, options);
    ShownTrace shown;
    shown.name = std::filesystem::path{arguments.script}.filename().string();
    shown.trace = memory::read_trace(arguments.script);
    shown.settings = allocator_of(options, "", "");
    return shown;
}

int trace(const StudyArguments& arguments, const TraceOptions& options) {
    const ShownTrace shown = is_trace(arguments.script) ? read(arguments, options) : record(arguments, options);
    const TraceFigures figures{shown, options};  // before anything is written: it may refuse an option
    if (!options.out.empty()) memory::write_trace(options.out, shown.trace);
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
