// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <span>
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

#ifndef HPO_COMPILED
#include "hpo/failure/impl/message_families_inl.hpp"
#endif
