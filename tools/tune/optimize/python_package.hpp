// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace hpo::tune {

/// PYTHONPATH for a program whose calls of optimize are taken over: the folders of the package `hpo` for Python, then `present`. Throws
/// Error if the package is not there.
[[nodiscard]] std::string python_path(const std::optional<std::string>& present);

}  // namespace hpo::tune
