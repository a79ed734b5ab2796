// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/recovery/concept.hpp"

namespace hpo::script {

/// A rule's retry in words: "out of memory at micro-batch 64: retry at 32 with 2 accumulation steps". The rule's own reason follows:
/// "(rule: a quarter)".
[[nodiscard]] std::string retry_words(const FailedAttempt& failed, const Recovery& retry);

}  // namespace hpo::script
