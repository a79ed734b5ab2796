// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/worker/environment.hpp"

namespace hpo::worker {

/// What CPU libraries choose their algorithms by, as text: the name of the first processor in /proc/cpuinfo, and a hash of its list of
/// instructions. Empty if there is no processor in it.
[[nodiscard]] std::string processor_text(std::istream& cpuinfo);

/// The same for this machine, with the variables of a worker's environment that tell these libraries which instructions to leave out.
[[nodiscard]] std::string processor_text(const Environment& environment);

}  // namespace hpo::worker
