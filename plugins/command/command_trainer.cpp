// SPDX-License-Identifier: MIT
#include "command_trainer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attempt.hpp"
#include "command_line.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/trainer/json.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/worker/environment.hpp"
#include "memory_group.hpp"
#include "torch_share.hpp"

namespace hpo::command {
namespace {

/// What the job holds as {"name": value}.
std::string json_object(const hpo::Values& values) {
    std::string text;
    for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + hpo::json_quote(name) + ": " + hpo::json_text(value);
    return "{" + text + "}";
}

std::string plan_text(const hpo::TrainerJob& job) {
    hpo::ExecutionPlan seen = job.plan;
    seen.micro_batch = seen.effective_micro_batch();
    const auto batch = job.options.find("batch");
    const bool is_asked_later = batch != job.options.end() && batch->second != hpo::Value{std::string{}} && !seen.effective_batch;
    if (is_asked_later) seen.micro_batch.reset();  // how many steps it would take is not known
    seen.device = hpo::worker::device_inside(seen.device);
    auto json = hpo::encode(seen);
    json["accumulation_steps"] = seen.accumulation_steps();
    return json.dump();
}

hpo::worker::Environment environment_of(const hpo::TrainerJob& job) {
    hpo::worker::Environment environment = hpo::worker::inherited_environment();
    const auto set = [&](const char* name, const std::string& text) { hpo::worker::set_variable(environment, name, text); };
    set("HPO_STUDY", job.study);
    set("HPO_TRIAL", std::to_string(job.trial));
    set("HPO_ATTEMPT", std::to_string(job.attempt));
    set("HPO_PARAMS", json_object(job.params));
    set("HPO_PLAN", plan_text(job));
    set("HPO_DEVICE", hpo::worker::device_inside(job.plan.device));
    set("HPO_SEED", std::to_string(job.seed));
    set("HPO_METRIC", job.metric);
    set("HPO_CHECKPOINT_FOLDER", job.checkpoint_folder);
    set("HPO_RESUME_STEP", job.resume_step ? std::to_string(*job.resume_step) : "");
    return environment;
}

/// The job with the plan's split of the batch in those parameters of the program that the options name.
hpo::TrainerJob with_split_batch(hpo::TrainerJob job, const hpo::Settings& settings) {
    const auto micro = job.plan.effective_micro_batch();
    if (const std::string& name = settings.text("micro_batch"); !name.empty() && micro) job.params.insert_or_assign(name, *micro);
    if (const std::string& name = settings.text("accumulate"); !name.empty())
        job.params.insert_or_assign(name, job.plan.accumulation_steps());
    return job;
}

/// The words that start the program. One that calls study.optimize asks for its parameters, so nothing is put into its words.
std::vector<std::string> words_for(const hpo::TrainerJob& job, const hpo::Settings& settings) {
    std::vector<std::string> words = words_of(settings.text("arguments"));
    if (settings.truth("optimize")) return words;
    const Placeholders known = placeholders_of(job);
    for (std::string& word : words) word = filled(word, known);
    return words;
}

/// Tells a program on a GPU how much its PyTorch may take: what is reserved for it without the context.
void limit_allocator(ProgramStart& start, const hpo::TrainerJob& job) {
    if (hpo::is_cpu(job.plan.device) || !job.plan.cap_bytes) return;
    const auto whole = card_bytes(start.environment);
    if (whole && *job.plan.cap_bytes >= *whole) return;  // the card itself is the limit
    const std::int64_t bytes = std::max<std::int64_t>(1, *job.plan.cap_bytes - context_bytes_of(job));
    hpo::worker::set_variable(start.environment, "HPO_TORCH_BYTES", std::to_string(bytes));
    if (whole) limit_torch(start.environment, start.words, {.bytes = bytes, .of = *whole});
}

/// Tells a program on a CPU how much of the host's memory it may take, all in all.
void limit_host_memory(ProgramStart& start, const hpo::TrainerJob& job) {
    if (!hpo::is_cpu(job.plan.device)) return;
    std::optional<std::int64_t> bytes = job.plan.cap_bytes;
    if (!bytes && !job.metered_device.empty()) {
        auto account = hpo::device::MeteredDevice::open(job.metered_device);
        const hpo::device::Occupancy now = account.occupancy();
        bytes = account.own_cap().value_or(now.capacity_bytes - now.used_bytes);
    }
    if (bytes) hpo::worker::set_variable(start.environment, "HPO_HOST_BYTES", std::to_string(*bytes));
}

/// Lets a program that calls study.optimize run one trial with the job's parameters, which nobody hears
/// (docs/development/optimize-protocol.md).
void start_alone(ProgramStart& start, const hpo::TrainerJob& job) {
    if (job.params.empty()) throw hpo::Error{hpo::Errc::plugin, "what the program asks for is not known before its first trial"};
    for (const auto& [name, from] : {std::pair{"PYTHONPATH", "HPO_PREDICT_PYTHONPATH"},
                                     {"HPO_OPTIMIZE_CALL", "HPO_PREDICT_CALL"},
                                     {"HPO_OPTIMIZE_STUDIES", "HPO_PREDICT_STUDIES"}}) {
        const auto value = hpo::worker::variable(start.environment, from);
        if (!value) throw hpo::Error{hpo::Errc::plugin, "the program's study is not open"};
        hpo::worker::set_variable(start.environment, name, *value);
    }
    hpo::worker::remove_variable(start.environment, "HPO_FORK_SOCKET");
    hpo::worker::set_variable(start.environment, "HPO_FRONT", "/dev/null");  // nobody listens there
}

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

/// True if the program is a file that can be started, or is found in PATH as execvp looks for it.
bool can_be_started(const std::string& program) {
    if (program.find('/') != std::string::npos) return is_program(program);
    const char* const variable = std::getenv("PATH");
    std::string_view folders = variable ? variable : "/bin:/usr/bin";
    for (bool more = true; more;) {
        const std::size_t end = folders.find(':');
        const std::string folder{folders.substr(0, end)};
        if (is_program((folder.empty() ? "." : folder) + "/" + program)) return true;
        more = end != std::string_view::npos;
        if (more) folders.remove_prefix(end + 1);
    }
    return false;
}

}  // namespace

hpo::TrainerInfo CommandTrainer::info() const {
    hpo::TrainerInfo info;
    info.name = "command";
    info.summary = "any program: each attempt starts it, with the parameters in its command line";
    info.parameters = {
        {"arguments", "text", "", {}, "the program and its arguments, a JSON list; hpo.command { ... } writes it", hpo::MemoryUse::none},
        {"batch", "text", "", std::string{}, "the study's parameter that is the effective batch: hpo may then split it",
         hpo::MemoryUse::none},
        {"micro_batch", "text", "", std::string{}, "the program's parameter that gets the examples of one forward pass",
         hpo::MemoryUse::none},
        {"accumulate", "text", "", std::string{}, "the program's parameter that gets the forward passes of one optimizer step",
         hpo::MemoryUse::none},
        {"optimize", "bool", "", false,
         "the program calls study.optimize of Optuna; each attempt is one call of its objective, in a child of the program or in another "
         "run of it",
         hpo::MemoryUse::none},
        {"grace_ms", "int", "[0, 3600000]", std::int64_t{5000}, "milliseconds from SIGTERM to SIGKILL for a program that is to stop",
         hpo::MemoryUse::none},
        {"hard_limit", "bool", "", false,
         "on a CPU, the kernel holds each attempt to its share by a control group; without, hpo looks and ends what takes more",
         hpo::MemoryUse::none},
    };
    info.metrics = {{"value", hpo::Direction::minimize, "what the program tells as its value; the study may call it by any name"}};
    info.open_ended = true;
    info.peak_sources = {std::string{hpo::to_text(hpo::PeakSource::virtual_card)}};
    return info;
}

hpo::AttemptOutcome CommandTrainer::run(const hpo::TrainerJob& asked, hpo::Progress& progress) {
    const hpo::Settings settings{info(), asked};
    const hpo::TrainerJob job = with_split_batch(asked, settings);
    ProgramStart start{.words = words_for(job, settings), .environment = environment_of(job)};
    limit_allocator(start, job);
    limit_host_memory(start, job);
    if (settings.truth("optimize")) start.fork_socket = hpo::worker::variable(start.environment, "HPO_FORK_SOCKET").value_or("");
    Attempt attempt{start,
                    {.grace = std::chrono::milliseconds{settings.whole("grace_ms")},
                     .objectives = std::max<std::size_t>(1, job.objectives.size()),
                     .device = job.plan.device,
                     .cap_bytes = job.plan.cap_bytes,
                     .context_bytes = context_bytes_of(job),
                     .hard_limit = settings.truth("hard_limit"),
                     .account = hpo::is_cpu(job.plan.device) ? job.metered_device : std::string{}},
                    progress};
    return attempt.run();
}

hpo::PeakPrediction CommandTrainer::predict(const hpo::TrainerJob& asked, hpo::PeakSource source, hpo::Progress& progress) {
    if (source != hpo::PeakSource::virtual_card) return Trainer::predict(asked, source, progress);
    const hpo::Settings settings{info(), asked};
    if (hpo::is_cpu(asked.plan.device)) throw hpo::Error{hpo::Errc::plugin, "the plan is for the CPU, and a virtual card is for CUDA"};
    const hpo::TrainerJob job = with_split_batch(asked, settings);
    ProgramStart start{.words = words_for(job, settings), .environment = environment_of(job)};
    if (settings.truth("optimize")) start_alone(start, job);
    return recordings_.predict(job, start, progress);
}

std::vector<hpo::TrainerProblem> CommandTrainer::check(const hpo::TrainerJob& job) {
    std::vector<hpo::TrainerProblem> problems = hpo::Settings::problems(info(), job);
    if (!problems.empty()) return problems;
    try {
        const hpo::Settings settings{info(), job};
        static_cast<void>(words_of(settings.text("arguments")));  // its error goes before all others
        const std::string& batch = settings.text("batch");
        const auto size = job.params.find(batch);
        if (!batch.empty() && size == job.params.end())
            problems.push_back({"batch", "got '" + batch + "', which the space does not ask for; expected a parameter of the study"});
        else if (!batch.empty() && !std::holds_alternative<std::int64_t>(size->second))
            problems.push_back({"batch", "got '" + batch + "', whose value is " + hpo::json_text(size->second) +
                                             "; expected an int parameter, or a categorical one of whole numbers"});
        for (const char* split : {"micro_batch", "accumulate"}) {
            if (batch.empty() && !settings.text(split).empty())
                problems.push_back(
                    {split, "got '" + settings.text(split) + "' without the option batch; expected batch = \"NAME\" beside it"});
        }
        if (settings.truth("hard_limit") && hpo::is_cpu(job.plan.device)) {
            try {
                const MemoryGroup tried{std::int64_t{1} << 30U};
            } catch (const hpo::Error& error) {
                problems.push_back({"hard_limit", error.what()});
            }
        }
        const std::vector<std::string> words = words_for(with_split_batch(job, settings), settings);
        const std::string& program = words.front();
        if (!can_be_started(program)) problems.push_back({"arguments", "the program '" + program + "' is not there, or cannot be started"});
        if (const std::string file = missing_file(words); !file.empty())
            problems.push_back({"arguments", "the file '" + file + "', which " + program + " is to run, is not there; a path begins at " +
                                                 std::filesystem::current_path().string()});
    } catch (const hpo::Error& error) {
        problems.push_back({"arguments", error.what()});
    }
    return problems;
}

}  // namespace hpo::command
