// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "hpo/worker/environment.hpp"

namespace hpo::command {

/// The ends of the pipes that a forked attempt gets, in the order in which they are sent.
struct ForkPipes {
    int output, error_output, reports;  ///< for writing
    int answers;                        ///< for reading
    int news;                           ///< for writing: the keeper's
    int life;                           ///< for reading: the keeper's
    [[nodiscard]] std::array<int, 6> all() const { return {output, error_output, reports, answers, news, life}; }
};

/// Asks a program that listens on this socket to fork a keeper, and that a child in which one trial runs. The keeper then tells in `news`
/// what KeptProgram's own keeper tells. The program's side is python/hpo/_forking/_request.py.
///
/// One message: the length of the JSON text as 4 bytes, little-endian, then {"environment": {NAME: VALUE}}. The pipes come with its first
/// byte (SCM_RIGHTS). Throws hpo::Error if nobody listens.
void request_fork(const std::string& socket_path, const hpo::worker::Environment& environment, const ForkPipes& pipes);

}  // namespace hpo::command
