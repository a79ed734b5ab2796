// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "tune/settings/settings.hpp"

namespace hpo::tune {

using Note = std::function<void(const std::string&)>;

/// Looks for options that change nothing beside the others. One of the command line throws Error{usage}. One of the script, which may serve
/// several machines, is told as a note. So is one that only has no effect because this machine has no GPU.
void tell_idle_options(const Settings& settings, const Note& note);
/// The same of the compute capability, for predictions that are made for `device`.
void tell_idle_capability(const Settings& settings, const std::string& device, const Note& note);

}  // namespace hpo::tune
