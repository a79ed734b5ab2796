// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo::libtorch {

/// Turns an exception of an attempt into a Failure. Its kind is trainer_error if only the text tells what went wrong.
[[nodiscard]] Failure translate_failure(const std::exception_ptr& error, std::string_view where, const std::string& configuration);

}  // namespace hpo::libtorch
