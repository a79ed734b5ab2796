// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>

namespace hpo {

/// Attributes of a study or a trial: name to JSON text (`"\"text\""`, `"true"`, `"{...}"`), as the store keeps them.
using Attributes = std::map<std::string, std::string, std::less<>>;

}  // namespace hpo
