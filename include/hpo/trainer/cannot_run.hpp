// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/base/error.hpp"

namespace hpo {

/// A prediction throws it if it found that the attempt ends in an error on its device, whatever memory that has. Weaker sources of
/// predictions, which may not notice, are then not asked.
struct CannotRun : Error {
    explicit CannotRun(const std::string& why) : Error{Errc::plugin, why} {}
};

}  // namespace hpo
