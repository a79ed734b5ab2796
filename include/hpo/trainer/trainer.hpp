// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/value.hpp"
#include "hpo/trainer/device_finding.hpp"

namespace hpo {

/// Named values as a trainer receives them.
using Values = std::map<std::string, Value, std::less<>>;

/// One attempt, as a trainer sees it.
struct TrainerJob {
    std::string study;
    std::int64_t trial = 0;
    int attempt = 0;
    Values params;       ///< what the sampler chose
    Values options;      ///< what the script fixed for the whole study (data folder, epochs, ...)
    std::string metric;  ///< the objective that the trainer reports and returns: one of TrainerInfo::metrics
    /// All objectives of the study in order, if it has several. A trainer returns a value for each. Or it returns only that of `metric`,
    /// and tells the other values as attributes of their names.
    std::vector<std::string> objectives{};
    ExecutionPlan plan;
    std::uint64_t seed = 0;
    std::string checkpoint_folder;  ///< existing folder for the checkpoints of this trial's attempts; empty: keep none
    std::optional<std::int64_t>
        resume_step;             ///< go on after the checkpoint of this step; nullopt: begin at step 0, whatever the folder has
    std::string metered_device;  ///< file of the shared account of a metered device (device/metered_device.hpp); empty: none
    std::string model_folder;    ///< an empty folder in which `run` writes the finished model; if the path is empty, no model is kept
    std::string saved_model;     ///< for `evaluate`: the folder that an earlier `run` wrote
    /// The file for an allocation trace. No trace is written if this is empty. `predict` writes the trace from which it predicts. `run`
    /// records a few steps of training, ends there, and returns no value.
    std::string trace_file;
    /// For `predict`: bytes of cuBLAS's workspace in each thread on the predicted CUDA device. Nullopt: LibTorch's default for most
    /// devices.
    std::optional<std::int64_t> cublas_workspace_bytes;
    /// What the CUDA context takes there: for `predict`, and for a measured peak that must be seen from outside. Nullopt: it is not known.
    std::optional<std::int64_t> cuda_context_bytes;

    /// For `run`: other attempts wait for memory. As soon as training has shown its peak, the attempt should cap itself there and tell the
    /// mark `settled`.
    bool settles = false;

    /// Only the shapes of the attempt's tensors count, as for `predict`. The trainer may use stand-ins for missing weights and data.
    /// Parameters without a standard value may be missing.
    bool shapes_only = false;

    /// The parameter of this name, or else the option. Null if there is neither.
    [[nodiscard]] const Value* find(std::string_view name) const {
        if (const auto param = params.find(name); param != params.end()) return &param->second;
        if (const auto option = options.find(name); option != options.end()) return &option->second;
        return nullptr;
    }

    static constexpr void fields(auto field) {
        field("study", &TrainerJob::study);
        field("trial", &TrainerJob::trial);
        field("attempt", &TrainerJob::attempt);
        field("params", &TrainerJob::params);
        field("options", &TrainerJob::options);
        field("metric", &TrainerJob::metric);
        field("objectives", &TrainerJob::objectives);
        field("plan", &TrainerJob::plan);
        field("seed", &TrainerJob::seed);
        field("checkpoint_folder", &TrainerJob::checkpoint_folder);
        field("resume_step", &TrainerJob::resume_step);
        field("metered_device", &TrainerJob::metered_device);
        field("model_folder", &TrainerJob::model_folder);
        field("saved_model", &TrainerJob::saved_model);
        field("trace_file", &TrainerJob::trace_file);
        field("cublas_workspace_bytes", &TrainerJob::cublas_workspace_bytes);
        field("cuda_context_bytes", &TrainerJob::cuda_context_bytes);
        field("settles", &TrainerJob::settles);
        field("shapes_only", &TrainerJob::shapes_only);
    }
};

/// How a parameter's value influences the memory of an attempt.
enum class MemoryUse {
    value,              ///< the value itself
    whether_zero,       ///< only whether it is 0, for example a dropout or a penalty
    whether_above_one,  ///< only whether it is above 1, for example a number of epochs: from the second on they take the same memory
    none,               ///< not at all
};

template <>
struct EnumNames<MemoryUse> {
    static constexpr std::array<std::string_view, 4> names{"value", "whether_zero", "whether_above_one", "none"};
};

/// A parameter or option that a trainer understands.
struct TrainerParameter {
    std::string name;
    std::string type;   ///< "float", "int", "bool", "text", "one of a, b, c"
    std::string range;  ///< "(0, 1)"; empty: any
    Value standard;     ///< used if the study does not set it; null: the study must set it
    std::string help;
    MemoryUse memory = MemoryUse::value;

    static constexpr void fields(auto field) {
        field("name", &TrainerParameter::name);
        field("type", &TrainerParameter::type);
        field("range", &TrainerParameter::range);
        field("standard", &TrainerParameter::standard);
        field("help", &TrainerParameter::help);
        field("memory", &TrainerParameter::memory);
    }
};

struct TrainerMetric {
    std::string name;
    Direction direction = Direction::maximize;
    std::string help;

    static constexpr void fields(auto field) {
        field("name", &TrainerMetric::name);
        field("direction", &TrainerMetric::direction);
        field("help", &TrainerMetric::help);
    }
};

/// A trainer's description of itself. `hpo-tune policies` shows it, and `hpo-tune check` compares the script with it.
struct TrainerInfo {
    std::string name;
    std::string summary;
    std::vector<TrainerParameter> parameters;
    std::vector<TrainerMetric> metrics;     ///< the first is the default objective
    std::vector<std::string> levers;        ///< plan members that it obeys: micro_batch, activation_checkpointing, ...
    std::string effective_batch_parameter;  ///< the parameter that is the effective batch; empty: none
    std::string length_parameter;           ///< the parameter that bounds an example's length in tokens or steps; empty: none
    std::string libtorch_version;           ///< empty for a trainer without LibTorch
    bool uses_cuda = false;                 ///< built to train on an NVIDIA GPU
    bool checkpoints = false;               ///< writes checkpoints if a job has a folder for them, and can resume
    bool saves_models = false;              ///< writes the finished model if a job has a folder for it, and can evaluate it again
    /// It takes any further parameter, and any metric in either direction. A trainer that passes all on to another program does that. Its
    /// option `batch` names the parameter of the study that is the effective batch. It then obeys the lever micro_batch.
    bool open_ended = false;
    std::vector<std::string> peak_sources;  ///< how it can predict an attempt's peak: names of PeakSource, strongest first

    static constexpr void fields(auto field) {
        field("name", &TrainerInfo::name);
        field("summary", &TrainerInfo::summary);
        field("parameters", &TrainerInfo::parameters);
        field("metrics", &TrainerInfo::metrics);
        field("levers", &TrainerInfo::levers);
        field("effective_batch_parameter", &TrainerInfo::effective_batch_parameter);
        field("length_parameter", &TrainerInfo::length_parameter);
        field("libtorch_version", &TrainerInfo::libtorch_version);
        field("uses_cuda", &TrainerInfo::uses_cuda);
        field("checkpoints", &TrainerInfo::checkpoints);
        field("saves_models", &TrainerInfo::saves_models);
        field("open_ended", &TrainerInfo::open_ended);
        field("peak_sources", &TrainerInfo::peak_sources);
    }
};

/// The value that a job gives to one of its trainer's own parameters; null: none. An open-ended trainer has its own from the options alone,
/// because the study's parameters may have the same names.
[[nodiscard]] inline const Value* given_value(const TrainerInfo& info, const TrainerJob& job, const std::string& name) {
    if (!info.open_ended) return job.find(name);
    const auto option = job.options.find(name);
    return option == job.options.end() ? nullptr : &option->second;
}

/// Through this a trainer tells what it does while it runs. Use it only until the function that received it returns. Thread safety: one
/// thread at a time, except `log`.
class Progress {
public:
    virtual ~Progress() = default;
    /// Tells an intermediate value of the objective. If it returns false, the trainer should return an outcome of kind stopped.
    [[nodiscard]] virtual bool report(std::int64_t step, double value) = 0;
    /// Call it before the report of the last step. The trial is then not pruned at that step.
    virtual void last_step(std::int64_t /*step*/) {}
    /// True once the attempt was asked to end. Cheap enough to call for every batch.
    [[nodiscard]] virtual bool stop_requested() const = 0;
    virtual void memory(const MemoryMark& mark) = 0;
    /// Tells that the program which an open-ended trainer runs has said something. Its memory, seen from outside, tells nothing of that.
    virtual void alive() {}
    /// The job's folder now has a complete checkpoint of this step, which was reported before. A later attempt may resume from it.
    virtual void checkpointed(std::int64_t /*step*/) {}
    /// `check` has come to this phase. It says so because a crash or a hang then has a place.
    virtual void phase(std::string_view /*name*/) {}
    /// A line for the trial's log. Several threads may call it at once.
    virtual void log(std::string_view line) = 0;
    /// The value of a parameter that the program asks for while it runs. `distribution` is JSON as Optuna writes it. Throws Error with what
    /// is wrong with the question. Throws Errc::interrupted if the attempt is to end. Throws Errc::usage if all parameters of the study are
    /// known before an attempt runs.
    [[nodiscard]] virtual Value suggest(const std::string& name, const std::string& distribution);
    /// A text that this trainer kept under this key, in this run or an earlier one of any study in the same store. Nullopt if there is
    /// none.
    [[nodiscard]] virtual std::optional<std::string> recall(const std::string& /*key*/) { return std::nullopt; }
    /// Keeps a text that took long to find out, in place of an earlier one of this key. It may get lost.
    virtual void keep(const std::string& /*key*/, const std::string& /*text*/) {}
};

inline Value Progress::suggest(const std::string& name, const std::string& /*distribution*/) {
    throw Error{Errc::usage, "parameter '" + name + "': the parameters of this study are known before an attempt runs"};
}

/// What a trainer can be asked.
enum class TrainerQuestion { info, run, evaluate, profile, predict, check, measure };

template <>
struct EnumNames<TrainerQuestion> {
    static constexpr std::array<std::string_view, 7> names{"info", "run", "evaluate", "profile", "predict", "check", "measure"};
};
[[nodiscard]] constexpr std::string_view to_text(TrainerQuestion question) {
    return EnumNames<TrainerQuestion>::names[static_cast<std::size_t>(question)];
}

/// A question to a trainer, as it crosses the borders of processes and plugins. The functions of Trainer have the same names.
struct TrainerRequest {
    TrainerQuestion question = TrainerQuestion::info;
    TrainerJob job{};                         ///< to all but `info`
    PeakSource source = PeakSource::dry_run;  ///< to `predict`

    static constexpr void fields(auto field) {
        field("question", &TrainerRequest::question);
        field("job", &TrainerRequest::job);
        field("source", &TrainerRequest::source);
    }
};

/// A problem that `check` found. `where` is a parameter, an option, a file or an example.
struct TrainerProblem {
    std::string where;
    std::string what;

    static constexpr void fields(auto field) {
        field("where", &TrainerProblem::where);
        field("what", &TrainerProblem::what);
    }
};

/// A model backend. It turns parameters and a plan into objective values. One object lives as long as its worker and runs one attempt at a
/// time. Between attempts it may keep data sets and the like, but no device memory.
class Trainer {
public:
    virtual ~Trainer() = default;
    [[nodiscard]] virtual TrainerInfo info() const = 0;
    /// Runs one attempt. If the trainer knows the kind of a failure, it returns it in the outcome. An exception is classified by its text.
    virtual AttemptOutcome run(const TrainerJob& job, Progress& progress) = 0;
    /// The model's shape under the job's parameters. Returns nullopt if the trainer cannot tell.
    [[nodiscard]] virtual std::optional<Profile> profile(const TrainerJob& job) = 0;
    /// Everything that can be checked without training: parameters, data, one batch, the range of labels.
    [[nodiscard]] virtual std::vector<TrainerProblem> check(const TrainerJob& job) = 0;

    /// Measures a model that an earlier `run` wrote, on the data that the job's parameters and options name. It trains nothing. The value
    /// of the outcome is the objective, and its attributes are all metrics by name. If the trainer can, it adds the attribute `data_hash`,
    /// as `run` does: a text that is the same only for the same data. A message about a bad folder names the file.
    virtual AttemptOutcome evaluate(const TrainerJob& /*job*/, Progress& /*progress*/) {
        return {.failure = Failure{.message = "trainer " + info().name + " saves no models and evaluates none"}};
    }

    /// Predicts the peak of the job's attempt on the plan's device. A dry run does not touch the device, so it works on a machine without
    /// one too. Throws Error with the reason if the source cannot tell.
    [[nodiscard]] virtual PeakPrediction predict(const TrainerJob& /*job*/, PeakSource source, Progress& /*progress*/) {
        throw Error{Errc::plugin, "trainer " + info().name + " knows no " + std::string{to_text(source)}};
    }

    /// Measures the plan's device without data or a model: takes memory, computes, compares with the CPU, gives all back. Throws Error with
    /// the reason if the trainer or this machine cannot.
    [[nodiscard]] virtual std::vector<DeviceFinding> measure(const TrainerJob& /*job*/, Progress& /*progress*/) {
        throw Error{Errc::plugin, "trainer " + info().name + " measures no device"};
    }

    /// @name What a worker calls: the same as above, for a trainer that takes long and looks at `stop_requested`
    /// An answer is not used if it was stopped. Reports are not passed on.
    /// @{
    [[nodiscard]] virtual std::optional<Profile> stoppable_profile(const TrainerJob& job, Progress& /*progress*/) { return profile(job); }
    [[nodiscard]] virtual std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& /*progress*/) { return check(job); }
    /// @}
};

}  // namespace hpo
