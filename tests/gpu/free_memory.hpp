// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace gpu {

/// A process that says how much of the first GPU is free, and does nothing else there: who asks it needs no context of his own. To be
/// made before its maker uses the GPU; processes that are forked later may ask, too, one at a time.
class FreeMemory {
public:
    FreeMemory() {
        if (::pipe(questions_) != 0 || ::pipe(answers_) != 0) throw std::runtime_error{"no pipe"};
        child_ = ::fork();
        if (child_ < 0) throw std::runtime_error{"no process"};
        if (child_ == 0) {
            ::close(questions_[1]);
            answer();
        }
        ::close(questions_[0]);
        ::close(answers_[1]);
        static_cast<void>(bytes());  // its context is there from now on
    }
    ~FreeMemory() {
        ::close(questions_[1]);
        ::close(answers_[0]);
        ::waitpid(child_, nullptr, 0);
    }
    FreeMemory(const FreeMemory&) = delete;
    FreeMemory& operator=(const FreeMemory&) = delete;

    [[nodiscard]] std::int64_t bytes() const {
        std::int64_t free = -1;
        if (::write(questions_[1], "?", 1) != 1 || ::read(answers_[0], &free, sizeof free) != sizeof free || free < 0)
            throw std::runtime_error{"the GPU's free memory cannot be told"};
        return free;
    }

private:
    [[noreturn]] void answer() const {
        for (char question = 0; ::read(questions_[0], &question, 1) == 1;) {
            std::size_t free = 0;
            std::size_t total = 0;
            const bool told = cudaMemGetInfo(&free, &total) == cudaSuccess;
            const std::int64_t bytes = told ? static_cast<std::int64_t>(free) : -1;
            if (::write(answers_[1], &bytes, sizeof bytes) != sizeof bytes) break;
        }
        ::_exit(0);
    }

    int questions_[2]{};
    int answers_[2]{};
    pid_t child_ = 0;
};

}  // namespace gpu
