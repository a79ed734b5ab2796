// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/value.hpp"

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
    std::string metric;  ///< the objective that is reported and returned: one of TrainerInfo::metrics
    /// All of the study's where it has several, in order. A trainer returns a value for each, or only that of `metric` and tells the others
    /// as attributes of their names.
    std::vector<std::string> objectives{};
    ExecutionPlan plan;
    std::uint64_t seed = 0;
    std::string checkpoint_folder;            ///< where this trial's attempts may keep checkpoints, made already; empty: nowhere
    std::optional<std::int64_t> resume_step;  ///< go on after the checkpoint of this step; nothing: begin anew, whatever lies there
    std::string metered_device;               ///< file of the shared account of a metered device (device/metered_device.hpp); empty: none
    std::string model_folder;                 ///< where `run` writes the finished model: an empty folder; empty: it is not kept
    std::string saved_model;                  ///< for `evaluate`: the folder that an earlier `run` wrote
    /// Where an allocation trace is written; empty: nowhere. Of `predict` that which it predicts from; a `run` that has it trains no more
    /// than a few steps, which are recorded, and has no value.
    std::string trace_file;
    /// For `predict`: cuBLAS's workspace of each thread on the CUDA device that is meant; nothing: LibTorch's usual one on most devices.
    std::optional<std::int64_t> cublas_workspace_bytes;

    /// For `run`: others wait for memory. Once training has shown what it needs, it should cap itself there and tell the mark `settled`.
    bool settles = false;

    /// Only what the attempt's tensors are shaped like counts, as for `predict`: weights and data that are not there may be stood in for,
    /// and parameters without a standard value may be missing.
    bool shapes_only = false;

    /// A parameter, else the option of the same name; null when neither is there.
    [[nodiscard]] const Value* find(std::string_view name) const {
        if (const auto param = params.find(name); param != params.end()) return &param->second;
        if (const auto option = options.find(name); option != options.end()) return &option->second;
        return nullptr;
    }
};

/// What of a parameter's value decides how much memory an attempt takes.
enum class MemoryUse {
    value,              ///< the value itself
    whether_zero,       ///< only whether it is 0: a share dropped, a penalty
    whether_above_one,  ///< only whether it is above 1: repetitions, of which the second takes what all others take
    none,               ///< nothing
};

/// A parameter or option that a trainer understands.
struct TrainerParameter {
    std::string name;
    std::string type;   ///< "float", "int", "bool", "text", "one of a, b, c"
    std::string range;  ///< "(0, 1)", empty when any
    Value standard;     ///< used when the study does not set it; null: required
    std::string help;
    MemoryUse memory = MemoryUse::value;
};

struct TrainerMetric {
    std::string name;
    Direction direction = Direction::maximize;
    std::string help;
};

/// What a trainer is: shown by `hpo-tune policies`, held against the script by `hpo-tune check`.
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
    bool checkpoints = false;               ///< writes checkpoints where a job has a folder for them, and can resume
    bool saves_models = false;              ///< writes the finished model where a job has a folder for it, and can evaluate it again
    std::vector<std::string> peak_sources;  ///< how it can predict an attempt's peak: names of PeakSource, strongest first
};

/// Where a trainer tells what it does while it runs. Thread safety: one thread at a time, log excepted, while the trainer's function
/// that it was given to runs.
class Progress {
public:
    virtual ~Progress() = default;
    /// Tells an intermediate value of the objective. False: the trainer should return an outcome of kind stopped.
    [[nodiscard]] virtual bool report(std::int64_t step, double value) = 0;
    /// Tells, before the report of this step, that it is the last one: whoever has got so far is not pruned any more.
    virtual void last_step(std::int64_t /*step*/) {}
    /// True once somebody asked the attempt to end; cheap enough for every batch.
    [[nodiscard]] virtual bool stop_requested() const = 0;
    virtual void memory(const MemoryMark& mark) = 0;
    /// A checkpoint of this step, which was reported, lies in the job's folder, whole: a next attempt may resume from it.
    virtual void checkpointed(std::int64_t /*step*/) {}
    /// A line for the trial's log. Several threads may call it at once.
    virtual void log(std::string_view line) = 0;
    /// News as JSON, of a kind that has no function above; whoever does not know it passes it over.
    virtual void tell(std::string_view /*json*/) {}
};

/// A problem that `check` found; `where` is a parameter, an option, a file, an example.
struct TrainerProblem {
    std::string where;
    std::string what;
};

/// A model backend: turns parameters and a plan into objective values. One object lives as long as its worker and runs
/// one attempt at a time; what it keeps between attempts (data sets) must not be device memory.
class Trainer {
public:
    virtual ~Trainer() = default;
    [[nodiscard]] virtual TrainerInfo info() const = 0;
    /// Runs one attempt. A failure is returned as an outcome where the trainer knows its kind; whatever it throws is
    /// classified by its text.
    virtual AttemptOutcome run(const TrainerJob& job, Progress& progress) = 0;
    /// The model's shape under the job's parameters; nothing when it cannot be told.
    [[nodiscard]] virtual std::optional<Profile> profile(const TrainerJob& job) = 0;
    /// Everything that can be checked without training: parameters, data, one batch, the range of labels.
    [[nodiscard]] virtual std::vector<TrainerProblem> check(const TrainerJob& job) = 0;

    /// Measures a model that an earlier `run` wrote, on the data that the job's parameters and options name: the outcome of a `run` that
    /// trains nothing. Its value is the objective, its attributes are every metric by name and, where the trainer can tell, `data_hash`: a
    /// text that is the same for the same data only, which `run` tells too. What is wrong with the folder names the file.
    virtual AttemptOutcome evaluate(const TrainerJob& /*job*/, Progress& /*progress*/) {
        return {.failure = Failure{.message = "trainer " + info().name + " saves no models and evaluates none"}};
    }

    /// The peak of the job's attempt on the plan's device, or on one like it where there is none here: the device is not touched by a dry
    /// run. Throws Error where the source cannot tell, and says why.
    [[nodiscard]] virtual PeakPrediction predict(const TrainerJob& /*job*/, PeakSource source, Progress& /*progress*/) {
        throw Error{Errc::plugin, "trainer " + info().name + " knows no " + std::string{to_text(source)}};
    }

    /// @name What is called in a worker: the same, for a trainer that needs long and looks at `stop_requested`
    /// An answer that was stopped is not used. Reports are not passed on.
    /// @{
    [[nodiscard]] virtual std::optional<Profile> stoppable_profile(const TrainerJob& job, Progress& /*progress*/) { return profile(job); }
    [[nodiscard]] virtual std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& /*progress*/) { return check(job); }
    /// @}
};

}  // namespace hpo
