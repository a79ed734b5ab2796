// SPDX-License-Identifier: MIT
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/allocator/trace_timeline.hpp"
#include "hpo/base/new_file.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/process/temporary_folder.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "support/options.hpp"
#include "support/terminal.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/device/worker_config.hpp"
#include "tune/prediction/shown_trace.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/idle_options.hpp"
#include "tune/settings/proposals.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {
namespace {

/// `recorded_with` may be empty: not known, and the newest that is modelled.
allocator::AllocatorSettings allocator_of(const TraceOptions& options, const std::string& recorded_with, const std::string& entries) {
    const auto version = options.libtorch.empty() ? allocator::parse_libtorch_version(recorded_with).value_or(allocator::LibTorchVersion{})
                                                  : allocator::require_modelled_version("--libtorch", options.libtorch);
    return options.allocator.empty() ? allocator::read_allocator_conf(entries, version, "plan.allocator_settings")
                                     : allocator::read_allocator_conf(options.allocator, version, "--allocator");
}

/// The study script of the command line. What is there and neither a script nor a trace is said to be so: it is more often a file of
/// another kind than a script with a mistake.
Settings load_script(const StudyArguments& arguments) {
    const std::string& file = arguments.script;
    const std::string neither = file + ": neither an allocation trace nor a study script";
    std::array<char, 4096> begin{};
    std::ifstream input{file, std::ios::binary};
    input.read(begin.data(), begin.size());
    const std::string_view read{begin.data(), static_cast<std::size_t>(input.gcount())};
    if (read.find('\0') != std::string_view::npos) throw Error{Errc::script, neither};
    try {
        return Settings{arguments};
    } catch (const Error& error) {
        if (error.code() != Errc::script || read.empty() || std::filesystem::path{file}.extension() == ".lua") throw;
        throw Error{Errc::script, neither + ": " + error.what()};
    }
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
    note("train", options.train);
    if (given.empty()) return;
    throw Error{Errc::usage, arguments.script + ": this is a recorded trace, not a study script: " + join_names(given) + " " +
                                 (given.size() == 1 ? "needs" : "need") + " a study script"};
}

/// Keeps how the recorded training ended.
struct TrainingEnd final : ExecutorEvents {
    EventAnswer on(std::int64_t /*trial*/, AttemptEvent event) override {
        if (auto* const outcome = std::get_if<AttemptOutcome>(&event)) ended = std::move(*outcome);
        return {};
    }
    std::optional<AttemptOutcome> ended;
};

/// What a dry run predicts, and the trace that it predicts from in `job.trace_file`. Returns why there is none; empty: it is there.
std::string record_dry_run(worker::Pool& pool, const Job& job, ShownTrace& shown) {
    worker::MemoryQuestions::Told told = pool.trace(job.params, job.plan, job.trace_file);
    if (!told.prediction) return told.why_not;
    shown.prediction = std::move(told.prediction);
    return {};
}

void require_trace(const Job& job, const std::string& trainer, const std::string& kind) {
    if (!std::filesystem::exists(job.trace_file)) throw Error{Errc::plugin, trainer + ": its " + kind + " wrote no trace"};
}

/// Trains a few steps on the device; their trace is in `job.trace_file`.
void record_training(worker::Pool& pool, const Job& job, const std::string& trainer, ShownTrace& shown) {
    TrainingEnd training;
    pool.submit(job, training);
    while (!training.ended) pool.wait(training, 1);
    if (const auto& failure = training.ended->failure) throw Error{Errc::plugin, trainer + ": training: " + failure_line(*failure)};
    shown.measured = std::move(training.ended);
    require_trace(job, trainer, "training");
}

/// Real steps where the configuration has no dry run; an error that names both where they cannot be recorded either.
void record_training_instead(worker::Pool& pool, const Job& job, const Settings& settings, const TrainerInfo& info, ShownTrace& shown,
                             const std::string& why_no_dry_run) {
    const std::string trainer = "trainer " + info.name;
    std::filesystem::remove(job.trace_file);
    try {
        (void)chosen_device(settings, info);  // a dry run is made for devices that are not there, too
        record_training(pool, job, trainer, shown);
    } catch (const Error& error) {
        throw Error{Errc::plugin, trainer + ": dry run: " + why_no_dry_run + "; and real steps instead: " + error.what()};
    }
    std::cerr << "hpo-tune: note: " << tools::on_one_line(trainer) << ": real steps are recorded, since this configuration has no dry run ("
              << tools::on_one_line(why_no_dry_run) << ")\n";
}

ShownTrace record(const StudyArguments& arguments, const TraceOptions& options) {
    Settings settings = load_script(arguments);
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    require_fixed(settings);
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    const Seed seed{static_cast<std::uint64_t>(settings.whole("seed", 0))};
    const TemporaryFolder folder{"hpo-tune"};
    Job job{.study = settings.description().name,
            .params = suggest_params(random, settings.probe_space(), TrialContext{0, nothing}, seed, settings.fixed()),
            .seed = seed.value,
            .trace_file = (folder.path() / "trace").string()};
    note_unused_fixed(settings, job.params);
    job.plan = first_plan(settings, info, job.params, options.train ? chosen_device(settings, info) : estimated_device(settings, info));
    tell_idle_capability(settings, job.plan.device, [](const std::string& text) { std::cerr << "hpo-tune: note: " << text << "\n"; });
    ShownTrace shown;
    shown.name = settings.description().name;
    shown.settings = allocator_of(options, info.libtorch_version, job.plan.allocator_settings);
    if (job.plan.expandable_segments && shown.settings.version >= allocator::LibTorchVersion{2, 1})
        shown.settings.expandable_segments = true;
    shown.conf = options.allocator.empty() ? job.plan.allocator_settings : options.allocator;
    if (shown.settings.expandable_segments && shown.conf.find("expandable_segments") == std::string::npos)
        shown.conf += (shown.conf.empty() ? "" : ",") + std::string{"expandable_segments:True"};
    worker::Pool pool{question_config(settings, info, job.plan.device)};
    const std::string trainer = "trainer " + info.name;
    if (options.train) {
        record_training(pool, job, trainer, shown);
    } else if (const std::string why_not = record_dry_run(pool, job, shown); !why_not.empty()) {
        record_training_instead(pool, job, settings, info, shown, why_not);
    } else {
        require_trace(job, trainer, "dry run");
    }
    const bool trained = shown.measured.has_value();
    shown.trace = allocator::read_trace(job.trace_file);
    shown.trace.libtorch = info.libtorch_version;
    shown.origin = (trained ? "training of " : "dry run of ") + shown.name + " with " + trainer + (trained ? " on " : " for ") +
                   job.plan.device + "\n";
    for (const Param& param : job.params) shown.origin += "  " + param.name + " = " + display_text(param.value()) + "\n";
    if (job.plan.effective_batch) {
        shown.origin += "  run as " + std::to_string(job.plan.accumulation_steps()) + " x micro-batch " +
                        std::to_string(*job.plan.effective_micro_batch()) + "\n";
    }
    return shown;
}

/// What a replay for another LibTorch leaves as it was recorded; empty: nothing.
std::string note_on_version(const ShownTrace& shown) {
    const auto recorded = allocator::parse_libtorch_version(shown.trace.libtorch);
    if (!recorded || *recorded == shown.settings.version) return {};
    const allocator::LibTorchVersion& asked = shown.settings.version;
    const std::string name = "LibTorch " + to_text(asked);
    std::string text = "Only the allocator is that of " + name + ": the blocks are those that LibTorch " + shown.trace.libtorch +
                       " asked for, and another version's operators may ask for others.";
    if (asked.major >= 2 && recorded->major < 2 && allocator::usual_cuda_overheads(asked).cublas_workspace_bytes > 0)
        text += " cuBLAS's workspaces, which " + name + " takes from the allocator, are not added.";
    return text + "\n";
}

ShownTrace read(const StudyArguments& arguments, const TraceOptions& options) {
    require_nothing_to_record(arguments, options);
    ShownTrace shown;
    shown.name = std::filesystem::path{arguments.script}.filename().string();
    shown.trace = allocator::read_trace(arguments.script);
    shown.settings = allocator_of(options, shown.trace.libtorch, "");
    shown.conf = options.allocator;
    shown.origin = note_on_version(shown);
    return shown;
}

/// A memory snapshot that PyTorch wrote. By default its own settings hold.
ShownTrace read_recorded(const StudyArguments& arguments, const TraceOptions& options) {
    require_nothing_to_record(arguments, options);
    allocator::RecordingChoice choice;
    if (!options.libtorch.empty()) choice.version = allocator::require_modelled_version("--libtorch", options.libtorch);
    allocator::Recording recording = allocator::open_recording(arguments.script, choice);
    if (recording.is_state())
        throw Error{Errc::bad_value, arguments.script +
                                         ": a snapshot without history: call torch.cuda.memory._record_memory_history() before the step, "
                                         "and _dump_snapshot() after it; hpo-analyze snapshot tells its state"};
    ShownTrace shown;
    shown.name = std::filesystem::path{arguments.script}.filename().string();
    shown.trace = std::move(recording.trace);
    shown.settings = options.allocator.empty()
                         ? recording.settings
                         : allocator::read_allocator_conf(options.allocator, recording.settings.version, "--allocator");
    shown.conf = options.allocator.empty() ? recording.conf : options.allocator;
    shown.origin = "a memory snapshot of PyTorch, device " + std::to_string(recording.device) +
                   "; hpo-analyze snapshot says more of it\nWhat was there before the recording counts as weights.\n";
    return shown;
}

ShownTrace shown_trace(const StudyArguments& arguments, const TraceOptions& options) {
    if (allocator::begins_as_trace(arguments.script)) return read(arguments, options);
    if (allocator::begins_as_pickle(arguments.script)) return read_recorded(arguments, options);
    return record(arguments, options);
}

int trace(const StudyArguments& arguments, const TraceOptions& options) {
    const ShownTrace shown = shown_trace(arguments, options);
    const TraceFigures figures{shown, options};  // before anything is written: it may refuse an option
    if (!options.out.empty()) allocator::write_trace(options.out, shown.trace);
    if (!options.snapshot.empty()) allocator::write_snapshot(options.snapshot, shown.trace, {shown.settings, shown.conf});
    if (!options.svg.empty()) {
        const std::string svg = allocator::timeline_svg(shown.trace, shown.name);
        NewFile file{options.svg};
        file.write(std::as_bytes(std::span{svg}));
        file.commit();
    }
    if (options.json) print_json(shown, figures, options);
    else print_text(shown, figures, options);
    return 0;
}

}  // namespace

void add_trace(tools::CommandLine& line) {
    auto* command = line.add("trace", "Show what takes the memory of one configuration, allocation by allocation");
    show_card_option(command);
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<TraceOptions>();
    add_study_arguments(command, arguments, {"device", "compute-capability", "seed", "plugin-timeout"});
    command->get_option("SCRIPT")->description(
        "a study script (Lua), whose dry run is recorded, a trace that was written before, or a memory snapshot of PyTorch");
    command->add_flag("--train", options->train, "record a few real steps on the device in place of a dry run; the device must exist");
    command->add_option("--out", options->out, "keep the trace in this file")->type_name("FILE")->check(not_empty("FILE"));
    command->add_option("--snapshot", options->snapshot, "write what a GPU's allocator would do as a memory snapshot, for PyTorch's viewer")
        ->type_name("FILE")
        ->check(not_empty("FILE"));
    command->add_option("--svg", options->svg, "draw the timeline into this file")->type_name("FILE")->check(not_empty("FILE"));
    command
        ->add_option("--libtorch", options->libtorch,
                     "replay the allocator of this LibTorch version (default: the one that recorded the trace)")
        ->type_name("VERSION")
        ->check(not_empty("VERSION"));
    command->add_option("--allocator", options->allocator, "the allocator's settings, as in PYTORCH_CUDA_ALLOC_CONF (default: the plan's)")
        ->type_name("KEY:VALUE,...")
        ->check(not_empty("KEY:VALUE,..."));
    command->add_option("--capacity", options->capacity, "say if this much memory is enough and, if not, which allocation fails")
        ->type_name("SIZE")
        ->check(not_empty("SIZE"));
    command->add_option("--top", options->top, "scopes that are shown")->check(tools::at_least(1))->capture_default_str();
    command->add_flag("--json", options->json, "as JSON");
    command->footer(
        "Parameters that are not fixed are drawn at random (--seed). A dry run trains nothing and touches no device. If a "
        "configuration\n"
        "has none, real steps are recorded.\n" +
        std::string{exit_codes});
    line.on(command, [arguments, options] { return trace(*arguments, *options); });
}

}  // namespace hpo::tune
