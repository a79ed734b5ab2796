// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/study.hpp"
#include "support/json.hpp"

namespace hpo::tune {

class Settings;

/// One call of `study.optimize` in a program of Optuna's users, or of an objective that the program names.
/// python/hpo/_loop/_program_loop.py writes it.
struct OptimizeCall {
    std::int64_t number = 0;             ///< of the calls in the program, from 0
    std::string objective;               ///< what it is called in the program
    std::string study;                   ///< its name; empty: the program made none up
    std::string store;                   ///< sqlite:///PATH of the study's own storage; empty: it is in memory
    std::string store_note;              ///< what a person should know of where the study is
    std::string copy_of;                 ///< the program's own storage, if the study is to be a copy of one there; else empty
    std::vector<Direction> directions;   ///< empty: the program does not say
    std::optional<std::int64_t> trials;  ///< so many more
    std::optional<double> seconds;
    std::optional<std::string> sampler;  ///< as after --sampler; nullopt: the program's own goes on choosing
    std::string sampler_note;
    std::optional<std::int64_t> seed;
    std::optional<std::string> pruner;
    std::string pruner_note;
    std::string state_note;  ///< which of the program's variables the objective changes
    std::int64_t jobs = 1;
    bool one_worker = false;  ///< its sampler may need the value of the latest trial
    bool catches = false;     ///< it names exceptions that end no study
    bool forks = false;
    std::string why_not;             ///< it cannot fork
    std::string fork_socket;         ///< on which it takes requests for a child
    bool tells_reached = false;      ///< started again, it can tell that it has come to the call (HPO_OPTIMIZE_REACHED)
    bool names_constraints = false;  ///< its Optuna reads constraints by name
    bool says_ready = false;         ///< after the study is opened it may add trials to it, and says when that is done
};

/// Throws Error{bad_value} for what no version of the package `hpo` for Python writes.
[[nodiscard]] OptimizeCall optimize_call(const tools::Json& message);

/// A Lua script of the study that such a call of the program `words` describes. `name` is the study's.
[[nodiscard]] std::string script_text(const OptimizeCall& call, const std::vector<std::string>& words, const std::string& name);

/// A Lua script of a study of an objective in a file. `words` are the file, the objective's name and the file's arguments.
[[nodiscard]] std::string script_text(const std::vector<std::string>& words, const std::string& python, const std::string& name,
                                      const std::vector<Direction>& directions, const std::string& metric);

/// What a person should know of the call.
[[nodiscard]] std::vector<std::string> notes_of(const OptimizeCall& call, const Settings& settings);

/// The command line of the program of a script whose trainer's program asks for its parameters.
[[nodiscard]] std::vector<std::string> words_of_program(const Settings& settings);

}  // namespace hpo::tune
