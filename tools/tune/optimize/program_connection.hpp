// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hpo/worker/descriptor.hpp"
#include "support/json.hpp"
#include "tune/serve/request_lines.hpp"

namespace hpo::tune {

/// A socket at which one process of a program speaks with this one at a time, in lines of JSON. Others that connect meanwhile are turned
/// away, because only one process of the program has its study run.
///
/// Thread safety: none.
class ProgramConnection {
public:
    /// Listens at a path. Throws Error if it cannot.
    explicit ProgramConnection(const std::filesystem::path& socket);

    /// True while a process is connected.
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(connection_); }
    /// Waits for a process that connects: at most so long, and not once `ended`, a descriptor, can be read.
    void accept(int ended, int timeout_ms);
    /// Says something to the process. One that has gone does not hear it.
    void say(const tools::Json& message);
    /// Waits for the next message. Returns nullopt after the time, or if the process has closed the connection. Throws Error for a line
    /// that is none.
    [[nodiscard]] std::optional<tools::Json> hear(int timeout_ms);
    void close();

private:
    void turn_others_away();

    worker::Descriptor listener_, connection_;
    std::vector<worker::Descriptor> turned_away_;
    std::optional<RequestLines> lines_;
};

}  // namespace hpo::tune
