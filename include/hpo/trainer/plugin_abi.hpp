// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// The border of a trainer plugin: plain C data, and functions that carry the worker protocol's JSON. So plugin and worker may be built by
/// different compilers. Authors never see it, because trainer/plugin.hpp writes it for them.
///
/// The members before `name` in Entry are the same in every version. Everything else may change with `abi_version`. Within a version, the
/// structs that carry their size grow only at their end. Read them through `whole`.
namespace hpo::abi {

inline constexpr std::uint64_t magic = 0x4E49'4152'544F'5048;  ///< the bytes "HPOTRAIN" on a little-endian machine
inline constexpr std::uint32_t version = 1;
inline constexpr const char* symbol = "hpo_trainer_plugin";  ///< name of the one exported function, `const Entry* ()`

/// A text that the callee may read until it returns. UTF-8, not terminated.
struct Text {
    const char* data;
    std::size_t size;
};

/// Where a plugin writes its answer. It may call `write` at most once in each call of its functions.
struct Sink {
    void* context;
    void (*write)(void* context, Text text) noexcept;
};

/// What a plugin may ask of the worker while `run`, `profile`, `check` or `ask` runs, from one thread at a time.
struct Host {
    std::uint32_t struct_size;
    void* context;
    std::int32_t (*report)(void* context, std::int64_t step, double value) noexcept;  ///< 0: stop
    std::int32_t (*stop_requested)(void* context) noexcept;                           ///< 1: stop
    void (*memory)(void* context, Text mark_json) noexcept;
    void (*log)(void* context, Text line) noexcept;
    void (*tell)(void* context, Text json) noexcept;  ///< news of a kind that a later version adds; may be null
    void (*suggest)(void* context, Text name, Text distribution, Sink sink) noexcept;  ///< the sink gets a Suggestion; may be null
    void (*recall)(void* context, Text key,
                   Sink sink) noexcept;                         ///< the sink gets the text, and is not called if there is none; may be null
    void (*keep)(void* context, Text key, Text text) noexcept;  ///< may be null
};

/// What each function returns. With `done`, the sink has the answer as JSON. With any other status, it has a message in words.
enum Status : std::int32_t {
    done = 0,
    failed = 1,
    no_memory = 2,   ///< failed because the host had no more memory
    cannot_run = 3,  ///< to a question for a prediction: the attempt ends in an error on its device, whatever memory that has
};

struct Entry {
    std::uint64_t magic;
    std::uint32_t struct_size;
    std::uint32_t abi_version;
    const char* name;              ///< TrainerInfo::name; empty if the trainer could not be asked
    const char* libtorch_version;  ///< TrainerInfo::libtorch_version
    std::int32_t (*create)(void** trainer, Sink sink) noexcept;
    void (*destroy)(void* trainer) noexcept;
    std::int32_t (*info)(void* trainer, Sink sink) noexcept;                                  ///< TrainerInfo
    std::int32_t (*run)(void* trainer, Text job_json, const Host* host, Sink sink) noexcept;  ///< AttemptOutcome
    /// Profile or null.
    std::int32_t (*profile)(void* trainer, Text job_json, const Host* host, Sink sink) noexcept;
    /// List of TrainerProblem.
    std::int32_t (*check)(void* trainer, Text job_json, const Host* host, Sink sink) noexcept;
    /// A question that a later version adds. An unknown question is answered with `failed` and a text that names it.
    std::int32_t (*ask)(void* trainer, Text question, Text job_json, const Host* host, Sink sink) noexcept;
};

/// The question to `ask` for Trainer::evaluate. Its answer is an AttemptOutcome. The names of PeakSource are the questions for
/// Trainer::predict. Their answer is a PeakPrediction.
inline constexpr const char* evaluate_question = "evaluate";
/// The question for Trainer::measure. Its answer is a list of DeviceFinding.
inline constexpr const char* measure_question = "measure";

/// A copy of the struct as this side knows it. Members that a shorter struct lacks are null. Further members of a longer one are left out.
template <class Struct>
[[nodiscard]] Struct whole(const Struct& given) noexcept {
    Struct result{};
    std::memcpy(&result, &given, std::min<std::size_t>(given.struct_size, sizeof(Struct)));
    return result;
}

}  // namespace hpo::abi
