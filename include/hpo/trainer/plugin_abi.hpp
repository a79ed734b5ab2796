// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The border of a trainer plugin: plain C data, one function to ask and one to tell, both in JSON. So plugin and worker may be built by
/// different compilers. Authors never see it, because trainer/plugin.hpp writes it for them.
///
/// The members before `name` in Entry are the same in every version. Everything else may change with `abi_version`. New questions, events
/// and members of records need no new version: the one side leaves out a member that the other does not know, and the other answers a
/// question or an event that it does not know with an error.
namespace hpo::abi {

inline constexpr std::uint64_t magic = 0x4E49'4152'544F'5048;  ///< the bytes "HPOTRAIN" on a little-endian machine
inline constexpr std::uint32_t version = 2;
inline constexpr const char* symbol = "hpo_trainer_plugin";  ///< name of the one exported function, `const Entry* ()`

/// A text that the callee may read until it returns. UTF-8, not terminated.
struct Text {
    const char* data;
    std::size_t size;
};

[[nodiscard]] inline Text as_text(std::string_view text) noexcept { return {text.data(), text.size()}; }
[[nodiscard]] inline std::string_view as_view(Text text) noexcept { return {text.data, text.size}; }

/// Where an answer is written. `write` may be called at most once for each.
struct Sink {
    void* context;
    void (*write)(void* context, Text text) noexcept;
};

/// A sink that writes into `text`.
[[nodiscard]] inline Sink sink_into(std::string& text) noexcept {
    return {&text, [](void* context, Text answer) noexcept { static_cast<std::string*>(context)->assign(answer.data, answer.size); }};
}

/// What a plugin may call while it is asked, from one thread at a time.
struct Host {
    void* context;
    std::int32_t (*stop_requested)(void* context) noexcept;  ///< 1: the attempt was asked to end
    /// Tells an AttemptEvent. The sink gets the EventAnswer of one that awaits_answer. An event that the worker does not know becomes a
    /// line of the log, and the sink gets an EventAnswer with the error. A LogLine may come from any thread.
    void (*tell)(void* context, Text event, Sink answer) noexcept;
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
    /// Asks a TrainerRequest. The answer is what the function of Trainer returns that has the question's name. A question that the plugin
    /// does not know has the status `failed` and a text that names it.
    std::int32_t (*ask)(void* trainer, Text request, const Host* host, Sink sink) noexcept;
};

}  // namespace hpo::abi
