// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hpo/torch/attempt.hpp"

namespace hpo::libtorch {

/// True if this process's CUDA driver is a virtual card, which owns no GPU.
[[nodiscard]] bool is_on_virtual_card();

/// What this process called since the last time that the virtual card does not model. It may take more memory on a GPU.
[[nodiscard]] std::vector<std::string> take_unmodelled();

/// While it lives, notices numbers that a training reads from the virtual card, which are made up. Harmless reads do not count, nor do
/// those of evaluations (recording/value_reads.hpp). Made in the attempt's thread, one at a time in a process.
class CardReads {
public:
    explicit CardReads(const RunningAttempt& attempt);
    ~CardReads();
    CardReads(const CardReads&) = delete;
    CardReads& operator=(const CardReads&) = delete;

    /// The phase of the first such read. Empty if there was none.
    [[nodiscard]] std::string phase() const;

private:
    static void look(std::size_t bytes);

    const RunningAttempt& attempt_;
    std::thread::id thread_ = std::this_thread::get_id();
    mutable std::mutex mutex_;
    std::string phase_;
    static inline CardReads* current_ = nullptr;
};

}  // namespace hpo::libtorch
