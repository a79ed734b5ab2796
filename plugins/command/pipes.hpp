// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "hpo/worker/descriptor.hpp"

namespace hpo::command {

struct Pipe {
    hpo::worker::Descriptor read, write;
    [[nodiscard]] static Pipe make() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw hpo::worker::system_failure("command: cannot make a pipe");
        return {hpo::worker::Descriptor{ends[0]}, hpo::worker::Descriptor{ends[1]}};
    }
};

/// The pipes between this process, a program and its keeper.
struct Pipes {
    Pipe output = Pipe::make(), error_output = Pipe::make(), reports = Pipe::make(), answers = Pipe::make();
    Pipe news = Pipe::make();  ///< what the keeper tells
    Pipe life = Pipe::make();  ///< nobody writes to it; at its end the keeper ends all
};

}  // namespace hpo::command
