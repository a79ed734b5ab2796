// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "hpo/core/outcome.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/trainer/json_members.hpp"
#include "hpo/trainer/trainer.hpp"

/// The records that cross the borders of processes and of plugins as JSON, by `record_line(x)` and `read_record<X>(text, place)`. If you
/// add a member to one of these records, add it here too.
namespace hpo {

template <>
struct JsonNames<FailureKind> {
    static constexpr auto& names = failure_kind_names;
};
template <>
struct JsonNames<OomCause> {
    static constexpr auto& names = oom_cause_names;
};
template <>
struct JsonNames<Precision> {
    static constexpr auto& names = precision_names;
};
template <>
struct JsonNames<OutcomeKind> {
    static constexpr auto& names = outcome_kind_names;
};
template <>
struct JsonNames<Direction> {
    static constexpr auto& names = direction_names;
};

template <>
struct JsonMembers<ExecutionPlan> {
    static constexpr auto& list = plan_fields;
};

template <>
struct JsonMembers<MemoryNeighbour> {
    static constexpr std::tuple list{JsonMember{"pid", &MemoryNeighbour::pid}, JsonMember{"bytes", &MemoryNeighbour::bytes},
                                     JsonMember{"program", &MemoryNeighbour::program}};
};

template <>
struct JsonMembers<MemoryReading> {
    using R = MemoryReading;
    static constexpr std::tuple list{JsonMember{"allocated", &R::allocated},
                                     JsonMember{"reserved", &R::reserved},
                                     JsonMember{"free", &R::free},
                                     JsonMember{"capacity", &R::capacity},
                                     JsonMember{"limit", &R::limit},
                                     JsonMember{"peak_allocated", &R::peak_allocated},
                                     JsonMember{"peak_reserved", &R::peak_reserved},
                                     JsonMember{"neighbours", &R::neighbours}};
};

template <>
struct JsonMembers<MemoryMark> {
    using R = MemoryMark;
    static constexpr std::tuple list{JsonMember{"name", &R::name}, JsonMember{"seconds", &R::seconds}, JsonMember{"step", &R::step},
                                     JsonMember{"reading", &R::reading}};
};

template <>
struct JsonMembers<Failure> {
    using R = Failure;
    static constexpr std::tuple list{JsonMember{"kind", &R::kind},     JsonMember{"message", &R::message},
                                     JsonMember{"type", &R::type},     JsonMember{"code", &R::code},
                                     JsonMember{"signal", &R::signal}, JsonMember{"exit_status", &R::exit_status},
                                     JsonMember{"where", &R::where},   JsonMember{"traceback", &R::traceback},
                                     JsonMember{"memory", &R::memory}, JsonMember{"requested_bytes", &R::requested_bytes},
                                     JsonMember{"cause", &R::cause},   JsonMember{"evidence", &R::evidence}};
};

template <>
struct JsonMembers<Report> {
    static constexpr std::tuple list{JsonMember{"step", &Report::step}, JsonMember{"value", &Report::value},
                                     JsonMember{"last", &Report::is_last}};
};

/// What a plugin tells by `tell`, with one member for each kind of news.
struct News {
    std::optional<std::int64_t> checkpoint{};  ///< Progress::checkpointed
    std::optional<std::int64_t> last_step{};   ///< Progress::last_step
    bool alive = false;                        ///< Progress::alive
};
template <>
struct JsonMembers<News> {
    static constexpr std::tuple list{JsonMember{"checkpoint", &News::checkpoint}, JsonMember{"last_step", &News::last_step},
                                     JsonMember{"alive", &News::alive}};
};

template <>
struct JsonMembers<Suggestion> {
    static constexpr std::tuple list{JsonMember{"value", &Suggestion::value}, JsonMember{"error", &Suggestion::error}};
};

template <>
struct JsonMembers<AttemptOutcome> {
    using R = AttemptOutcome;
    static constexpr std::tuple list{JsonMember{"kind", &R::kind},
                                     JsonMember{"values", &R::values},
                                     JsonMember{"failure", &R::failure},
                                     JsonMember{"memory", &R::memory},
                                     JsonMember{"peak_allocated", &R::peak_allocated},
                                     JsonMember{"peak_reserved", &R::peak_reserved},
                                     JsonMember{"prunes_itself", &R::prunes_itself},
                                     JsonMember{"heard_verdict", &R::heard_verdict},
                                     JsonMember{"prune_reason", &R::prune_reason},
                                     JsonMember{"approximate", &R::approximate},
                                     JsonMember{"attributes", &R::attributes},
                                     JsonMember{"constraints", &R::constraints},
                                     JsonMember{"worker_pid", &R::worker_pid},
                                     JsonMember{"seconds", &R::seconds}};
};

template <>
struct JsonMembers<Profile> {
    using R = Profile;
    static constexpr std::tuple list{JsonMember{"parameters", &R::parameters},
                                     JsonMember{"trainable_parameters", &R::trainable_parameters},
                                     JsonMember{"weight_bytes", &R::weight_bytes},
                                     JsonMember{"gradient_bytes", &R::gradient_bytes},
                                     JsonMember{"optimizer_bytes", &R::optimizer_bytes},
                                     JsonMember{"activation_fixed_bytes", &R::activation_fixed_bytes},
                                     JsonMember{"activation_bytes_per_example", &R::activation_bytes_per_example}};
};

template <>
struct JsonNames<PeakSource> {
    static constexpr auto& names = peak_source_names;
};

template <>
struct JsonMembers<EstimatePart> {
    static constexpr std::tuple list{JsonMember{"name", &EstimatePart::name}, JsonMember{"bytes", &EstimatePart::bytes}};
};

template <>
struct JsonMembers<PeakPrediction> {
    using R = PeakPrediction;
    static constexpr std::tuple list{JsonMember{"source", &R::source},
                                     JsonMember{"requested_bytes", &R::requested_bytes},
                                     JsonMember{"allocated_bytes", &R::allocated_bytes},
                                     JsonMember{"reserved_bytes", &R::reserved_bytes},
                                     JsonMember{"need", &R::need},
                                     JsonMember{"comfort", &R::comfort},
                                     JsonMember{"parts", &R::parts},
                                     JsonMember{"uncertainty", &R::uncertainty},
                                     JsonMember{"upper_bound", &R::upper_bound},
                                     JsonMember{"remark", &R::remark}};
};

template <>
struct JsonMembers<TrainerJob> {
    using R = TrainerJob;
    static constexpr std::tuple list{JsonMember{"study", &R::study},
                                     JsonMember{"trial", &R::trial},
                                     JsonMember{"attempt", &R::attempt},
                                     JsonMember{"params", &R::params},
                                     JsonMember{"options", &R::options},
                                     JsonMember{"metric", &R::metric},
                                     JsonMember{"objectives", &R::objectives},
                                     JsonMember{"plan", &R::plan},
                                     JsonMember{"seed", &R::seed},
                                     JsonMember{"checkpoint_folder", &R::checkpoint_folder},
                                     JsonMember{"resume_step", &R::resume_step},
                                     JsonMember{"metered_device", &R::metered_device},
                                     JsonMember{"model_folder", &R::model_folder},
                                     JsonMember{"saved_model", &R::saved_model},
                                     JsonMember{"trace_file", &R::trace_file},
                                     JsonMember{"cublas_workspace_bytes", &R::cublas_workspace_bytes},
                                     JsonMember{"cuda_context_bytes", &R::cuda_context_bytes},
                                     JsonMember{"settles", &R::settles},
                                     JsonMember{"shapes_only", &R::shapes_only}};
};

template <>
struct JsonNames<MemoryUse> {
    static constexpr std::array<std::string_view, 4> names{"value", "whether_zero", "whether_above_one", "none"};
};

template <>
struct JsonMembers<TrainerParameter> {
    using R = TrainerParameter;
    static constexpr std::tuple list{JsonMember{"name", &R::name},         JsonMember{"type", &R::type}, JsonMember{"range", &R::range},
                                     JsonMember{"standard", &R::standard}, JsonMember{"help", &R::help}, JsonMember{"memory", &R::memory}};
};

template <>
struct JsonMembers<TrainerMetric> {
    using R = TrainerMetric;
    static constexpr std::tuple list{JsonMember{"name", &R::name}, JsonMember{"direction", &R::direction}, JsonMember{"help", &R::help}};
};

template <>
struct JsonMembers<TrainerInfo> {
    using R = TrainerInfo;
    static constexpr std::tuple list{JsonMember{"name", &R::name},
                                     JsonMember{"summary", &R::summary},
                                     JsonMember{"parameters", &R::parameters},
                                     JsonMember{"metrics", &R::metrics},
                                     JsonMember{"levers", &R::levers},
                                     JsonMember{"effective_batch_parameter", &R::effective_batch_parameter},
                                     JsonMember{"libtorch_version", &R::libtorch_version},
                                     JsonMember{"checkpoints", &R::checkpoints},
                                     JsonMember{"saves_models", &R::saves_models},
                                     JsonMember{"open_ended", &R::open_ended},
                                     JsonMember{"length_parameter", &R::length_parameter},
                                     JsonMember{"peak_sources", &R::peak_sources},
                                     JsonMember{"uses_cuda", &R::uses_cuda}};
};

template <>
struct JsonMembers<TrainerProblem> {
    static constexpr std::tuple list{JsonMember{"where", &TrainerProblem::where}, JsonMember{"what", &TrainerProblem::what}};
};

}  // namespace hpo
