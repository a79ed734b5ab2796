// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/worker/environment.hpp"

namespace hpo::command {

/// An amount of memory of a card.
struct CardShare {
    std::int64_t bytes = 0;
    std::int64_t of = 0;  ///< bytes of the whole card
};

/// Where the program is Python with a PyTorch that can be limited from outside, from 2.10 on: limits its allocator to a share of the first
/// card that the program sees. Does nothing where the environment has a limit already.
///
/// The interpreter is asked for PyTorch's version once. The driver counts a few per cent more memory than CUDA does, of which the limit is
/// a share. So the limit is wider by that much.
void limit_torch(hpo::worker::Environment& environment, const std::vector<std::string>& words, const CardShare& allowed);

/// Bytes of the first card that a program with this environment sees. Nullopt without a driver.
[[nodiscard]] std::optional<std::int64_t> card_bytes(const hpo::worker::Environment& environment);

/// The environment's settings of the allocator with one more.
[[nodiscard]] std::string settings_with(const hpo::worker::Environment& environment, const std::string& setting);

/// True for "python3", "/usr/bin/python3.11" and the like.
[[nodiscard]] bool is_python(const std::string& program);

}  // namespace hpo::command
