// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo::torch {

/// What was thrown in an attempt, as a value. Errors of which only the text says what they are keep kind trainer_error.
[[nodiscard]] Failure translate_failure(const std::exception_ptr& error, std::string_view where, const std::string& configuration);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/failure_translation_inl.hpp"
#endif
