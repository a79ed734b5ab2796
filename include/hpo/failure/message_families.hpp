// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/failure/codes/error_search.hpp"
#include "hpo/failure/codes/xid_message.hpp"
#include "hpo/failure/death_messages.hpp"
#include "hpo/failure/device_error_messages.hpp"
#include "hpo/failure/device_memory_messages.hpp"
#include "hpo/failure/host_memory_messages.hpp"
#include "hpo/failure/message_family.hpp"
#include "hpo/failure/network_messages.hpp"
#include "hpo/failure/number_messages.hpp"
#include "hpo/failure/surroundings_messages.hpp"

namespace hpo {

/// All families, in the order in which they are tried. The first that has a line of the text decides. Two rules explain the order:
///
/// - The nearer to the cause, the earlier. Memory comes before what follows from it: errors of libraries, dead processes.
/// - The surer, the earlier. A missing module or file is often met, handled and followed by another error. So these are last.
///
/// CUDA's own error codes (failure/codes/cuda_codes.hpp) come after host memory. CUDA's "out of memory" alone and the driver's Xids come
/// after device memory. The errors that CUDA's driver and libraries name (failure/codes/error_search.hpp) come after the device's errors.
inline constexpr std::array<std::span<const MessageFamily>, 12> message_families{
    host_memory_messages, workspace_messages, device_memory_messages, network_time_messages, device_error_messages, library_messages,
    number_messages,      network_messages,   environment_messages,   death_messages,        import_messages,       data_messages};

/// What in a text tells the kind of failure.
struct TellingPart {
    FailureKind kind = FailureKind::trainer_error;
    const MessageFamily* family = nullptr;  ///< null if an error of a table or an Xid tells
    const ErrorCode* error = nullptr;       ///< the error of CUDA or of its driver that the text names, whatever tells the kind
    std::string_view line;                  ///< the line that tells, without blanks around it
};

/// Finds what tells the kind of failure. The exception's type counts as the beginning of the first line. Lines of source code that a
/// traceback shows and Python's warnings tell nothing. Where a text contains tracebacks, a missing module or file counts only behind the
/// last one. Returns nullopt if no line tells.
[[nodiscard]] std::optional<TellingPart> find_telling_part(std::string_view type, std::string_view message);

/// The line whose family decides. Empty if no line tells.
[[nodiscard]] std::string_view telling_line(std::string_view text);

}  // namespace hpo

namespace hpo::detail {

/// The line of `text` around a position.
[[nodiscard]] inline std::string_view line_around(std::string_view text, std::size_t at) {
    const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
}

/// True for the line of a traceback that names a place. The line behind it is source code.
[[nodiscard]] inline bool names_place_in_source(std::string_view line) {
    return line.starts_with("file \"") && line.find("\", line ") != std::string_view::npos;
}

/// True for what TensorFlow and XLA log as information: "2026-01-31 12:00:00.1: I external/xla/cuda_driver.cc:753] failed to allocate".
[[nodiscard]] inline bool is_information(std::string_view line) {
    const auto level = line.find(": i ");
    const bool is_level = level != std::string_view::npos || contains_phrase(line, "^i# ");
    return is_level && contains_phrase(line.substr(level == std::string_view::npos ? 0 : level), ".cc:#]");
}

/// True for a line after which a program goes on, whatever its words: a warning of Python, or what TensorFlow logs as information, in its
/// search for a driver at its start, or before a smaller request. The line is in the form that `searchable` gives.
[[nodiscard]] inline bool goes_on_after(std::string_view line) {
    static constexpr Phrases warnings{": userwarning: ",     ": futurewarning: ",     ": deprecationwarning: ", ": runtimewarning: ",
                                      ": resourcewarning: ", "failed call to cuinit", "is not a failure"};
    return is_information(line) ||
           std::ranges::any_of(warnings, [line](std::string_view warning) { return contains_phrase(line, warning); });
}

/// True for a line that tells nothing, whatever its words: source code in a traceback, or one after which a program goes on.
[[nodiscard]] inline bool is_beside_the_point(std::string_view text, std::string_view line) {
    const auto begin = static_cast<std::size_t>(line.data() - text.data());
    return (begin > 1 && names_place_in_source(line_around(text, begin - 1))) || goes_on_after(line);
}

/// Where the source lines of the last traceback end. 0 if there is no traceback.
[[nodiscard]] inline std::size_t end_of_tracebacks(std::string_view text) {
    const auto place = text.rfind("\nfile \"");
    if (place == std::string_view::npos || text.find("traceback (most recent call last)") == std::string_view::npos) return 0;
    return std::min(text.find('\n', place + 1), text.size());
}

/// The first line of the text, from `from` on, that belongs to a family. Empty if there is none.
[[nodiscard]] inline std::string_view first_line_of(const MessageFamily& family, std::string_view text, std::size_t from) {
    std::string_view first;
    for (const std::string_view phrase : family.all.empty() ? family.any : family.all) {
        const std::string_view literal = literal_of(phrase);
        for (auto at = text.find(literal, from); at != std::string_view::npos; at = text.find(literal, at)) {
            const std::string_view line = line_around(text, at);
            if (!first.empty() && line.data() >= first.data()) break;
            if (belongs_to(line, family) && !is_beside_the_point(text, line)) {
                first = line;
                break;
            }
            at = static_cast<std::size_t>(line.data() - text.data()) + line.size();
        }
        if (!family.all.empty()) break;  // every line of the family has the first phrase
    }
    return first;
}

/// The line of the message that stands where `line` stands in `text`, which is the message in searchable form.
[[nodiscard]] inline std::string_view same_line(std::string_view message, std::string_view text, std::string_view line) {
    auto number = std::count(text.data(), line.data(), '\n');
    for (; number > 0; --number) message.remove_prefix(std::min(message.find('\n') + 1, message.size()));
    message = message.substr(0, message.find('\n'));
    const auto begin = message.find_first_not_of(" \t\r");
    const auto end = message.find_last_not_of(" \t\r");
    return begin == std::string_view::npos ? std::string_view{} : message.substr(begin, end - begin + 1);
}

/// The first line that names the error.
[[nodiscard]] inline std::string_view line_of_error(std::string_view message, const ErrorCode& error) {
    for (std::string_view rest = message; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (cuda_error_in(line) == &error) return same_line(line, {}, {});
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return same_line(message, {}, {});
}

/// What a line names, and the line as it stands in the message.
template <class Found>
struct NamedInLine {
    const Found* what = nullptr;
    std::string_view line;
};

/// The first line in which `find` finds something. Lines that tell nothing are left out.
template <class Found, class Find>
[[nodiscard]] NamedInLine<Found> first_named(std::string_view message, std::string_view text, Find&& find) {
    for (std::size_t begin = 0, place = 0; begin < message.size();) {
        const std::string_view line = message.substr(begin, message.find('\n', begin) - begin);
        const std::string_view same = text.substr(std::min(place, text.size()));
        const std::string_view plain = same.substr(0, same.find('\n'));
        if (const Found* found = find(line); found && !is_beside_the_point(text, plain)) return {found, same_line(line, {}, {})};
        begin += line.size() + 1;
        place += plain.size() + 1;
    }
    return {};
}

}  // namespace hpo::detail

namespace hpo {

inline std::optional<TellingPart> find_telling_part(std::string_view type, std::string_view message) {
    const std::string text = detail::searchable(type.empty() ? std::string{message} : std::string{type} + ": " + std::string{message});
    const auto library = detail::first_named<ErrorCode>(message, text, &library_error_in);
    const ErrorCode* const runtime = cuda_error_in(message);
    const ErrorCode* const error = !runtime && library.what && is_driver_error(*library.what) ? library.what : runtime;
    const std::size_t behind_tracebacks = detail::end_of_tracebacks(text);
    // A loader's thread asks CUDA for pinned memory of the host.
    const bool pins = text.find("in pin memory thread") != std::string::npos;
    const auto kind_of = [&](FailureKind kind) {
        return pins && kind == FailureKind::out_of_memory ? FailureKind::host_out_of_memory : kind;
    };
    const auto told_by_error = [&] {
        return TellingPart{
            .kind = kind_of(failure_kind_of(runtime->meaning.what)), .error = runtime, .line = detail::line_of_error(message, *runtime)};
    };
    for (const std::span<const MessageFamily> families : message_families) {
        for (const MessageFamily& family : families) {
            const std::size_t from = may_hide_cause(family.kind) ? behind_tracebacks : 0;
            if (const std::string_view line = detail::first_line_of(family, text, from); !line.empty()) {
                return TellingPart{
                    .kind = kind_of(family.kind), .family = &family, .error = error, .line = detail::same_line(message, text, line)};
            }
        }
        const bool host = families.data() == host_memory_messages.data();
        const bool device = families.data() == device_memory_messages.data();
        if (runtime && ((host && runtime->meaning.what != ErrorClass::memory) || device)) return told_by_error();
        if (device) {
            if (const XidCode* xid = failing_xid_in(message)) {
                const auto told = detail::first_named<XidCode>(
                    message, text, [xid](std::string_view line) { return failing_xid_in(line) == xid ? xid : nullptr; });
                if (told.what) return TellingPart{.kind = failure_kind_of(xid->meaning.what), .error = error, .line = told.line};
            }
        }
        if (library.what && families.data() == device_error_messages.data())
            return TellingPart{.kind = failure_kind_of(library.what->meaning.what), .error = error, .line = library.line};
    }
    return std::nullopt;
}

inline std::string_view telling_line(std::string_view text) {
    const auto part = find_telling_part({}, text);
    return part ? part->line : std::string_view{};
}

}  // namespace hpo
