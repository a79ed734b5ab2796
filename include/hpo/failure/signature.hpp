// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo {

/// A line without what differs between equal failures: numbers become `N`, sizes in memory `N bytes`, addresses `0xN`, identifiers of
/// 32 hexadecimal digits or more `ID`, paths of files `PATH`. A sentence that comes again is told once: PyTorch names each process that
/// holds memory.
[[nodiscard]] std::string without_details(std::string_view line);

/// The same text for failures that are the same: the kind, the phase, the exception's type, and failure_line without its details. The exit
/// status or the signal of a process that told nothing else is kept. The trial's configuration, which some messages end with, is left out.
[[nodiscard]] std::string signature(const Failure& failure);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/signature_inl.hpp"
#endif
