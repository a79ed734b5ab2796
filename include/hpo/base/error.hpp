// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hpo {

/// What kind of error it is, so that the caller can act on it. Each has a section in docs/errors.md.
enum class Errc {
    check_failed,       ///< a check that was asked for found a problem
    usage,              ///< a command line or an argument that makes no sense
    unknown_name,       ///< a policy, study, parameter or option that does not exist
    bad_value,          ///< a value of the wrong type or outside its range
    script,             ///< a Lua script that does not load or run
    store,              ///< a store that cannot be opened, read or written
    store_unavailable,  ///< a store that cannot be used now, but perhaps later: it is locked, the disk is full, or the file system fails
    store_schema,       ///< a store of another kind, or of a newer schema
    no_device,          ///< no device that satisfies the request
    plugin,             ///< a trainer plugin that is missing, foreign or broken
    breaker,            ///< a run that its breaker ended, because trials failed in the same way again and again
    interrupted,        ///< the user asked to stop
};

/// The exit code of the tools for an error of this kind, as docs/errors.md lists it.
[[nodiscard]] constexpr int exit_code(Errc code) noexcept {
    switch (code) {
        case Errc::check_failed: return 1;
        case Errc::usage:
        case Errc::unknown_name:
        case Errc::bad_value:
        case Errc::script: return 2;
        case Errc::store:
        case Errc::store_unavailable:
        case Errc::store_schema: return 3;
        case Errc::no_device: return 4;
        case Errc::breaker: return 5;
        case Errc::plugin: return 6;
        case Errc::interrupted: return 130;
    }
    return 2;
}

/// The only exception type of the library: for misuse, configuration, storage and plugins. What a trial does wrong is never an Error. It is
/// a Failure (core/failure.hpp).
class Error : public std::runtime_error {
public:
    Error(Errc code, const std::string& what) : std::runtime_error{what}, code_{code} {}
    [[nodiscard]] Errc code() const noexcept { return code_; }

private:
    Errc code_;
};

/// The name in `known` that `name` was probably meant to be, or an empty view. Its optimal string alignment distance is at most a third of
/// the name's length.
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::span<const std::string> known);

/// "a, b, c", or "none" for an empty list.
[[nodiscard]] std::string join_names(std::span<const std::string> names);

/// `place: unknown KIND 'name'; did you mean 'x'?; known: a, b, c`. An empty place is left out. Of a long list, the names that are most
/// like it are known: "a, b, and 30 more".
[[nodiscard]] Error unknown_name(std::string_view place, std::string_view kind, std::string_view name, std::span<const std::string> known);

/// `place: got WHAT; expected EXPECTED`. An empty place is left out.
[[nodiscard]] inline Error bad_value(std::string_view place, std::string_view got, std::string_view expected) {
    std::string text = place.empty() ? std::string{} : std::string{place} + ": ";
    return Error{Errc::bad_value, text + "got " + std::string{got} + "; expected " + std::string{expected}};
}

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/base/impl/error_inl.hpp"
#endif
