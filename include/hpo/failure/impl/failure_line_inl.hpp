// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/python_error.hpp"

namespace hpo::detail {

/// The first line that is not blank.
HPO_INLINE std::string first_filled_line(std::string_view text) {
    const auto begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(begin);
    text = text.substr(0, text.find('\n'));
    while (text.ends_with('\r')) text.remove_suffix(1);
    return std::string{text};
}

/// "ValueError: a bad batch": what the text's last traceback ends with; empty if it has none.
HPO_INLINE std::string last_exception(std::string_view text) {
    const auto chain = exceptions_in(text);
    if (chain.empty()) return {};
    const std::string message = first_filled_line(chain.back().message);
    return chain.back().type + (message.empty() ? "" : ": " + message);
}

}  // namespace hpo::detail

namespace hpo {

HPO_INLINE std::string failure_line(const Failure& failure) {
    const std::string first = detail::first_filled_line(failure.message);
    if (failure.message.find('\n') != std::string::npos) {
        const auto part = find_telling_part(failure.type, failure.message);
        if (part && part->kind == failure.kind && !part->line.empty()) return std::string{part->line};
        if (std::string exception = detail::last_exception(failure.message); !exception.empty()) return exception;
    }
    if (!failure.exit_status) return first;
    const std::string exception = detail::last_exception(failure.traceback);
    const bool says_it = first.find(exception) != std::string::npos || (!first.empty() && exception.find(first) != std::string::npos);
    return exception.empty() || says_it ? first : first + ": " + exception;
}

}  // namespace hpo
