// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// Looks for options that change nothing beside the others. One of the command line throws Error{usage}. One of the script, which may serve
/// several machines, is told as a note. So is one that only has no effect because this machine has no GPU.
void tell_idle_options(const Settings& settings, const std::function<void(const std::string&)>& note);

}  // namespace hpo::tune
