// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/card/asked_card.hpp"

namespace hpo::tune {

/// A program to run on a virtual card. Memory in bytes.
struct ProgramRun {
    std::vector<std::string> words;  ///< the program and its arguments
    std::filesystem::path folder;    ///< for what is recorded; it exists and is empty
    bool in_place = false;           ///< what it writes below the current folder is to stay
    std::filesystem::path output;    ///< file for what the program prints; empty: it is not kept
    AskedCard card;
    int steps = 2;  ///< optimizer steps after which it is ended
    std::chrono::seconds limit{600};
};

/// A line of the program that read values of the card.
struct ValueRead {
    std::string line;
    int times = 0;
    bool whole_number = false;
};

/// A line of the program at which PyTorch makes something as large as the data says.
struct SizeFromData {
    std::string line;
    enum class Bound : std::uint8_t { at_most, at_least, neither, unknown };

    std::string assumed;  ///< what was taken for the size: "counted as if every element was chosen"
    Bound bound = Bound::at_least;
};

/// How one process of the program ended that used the card.
struct RecordedProcess {
    std::filesystem::path snapshot;
    bool complete = false;  ///< the snapshot is there. Otherwise the process was ended before it was written
    std::string why;        ///< steps: all of them were made; end: the program ended; limit: it was ended
    int steps = 0;
    int optimizers = 0;                      ///< that it made of parameters on a card
    int ranks = 1;                           ///< processes that train together, as torchrun tells each
    std::string error;                       ///< the exception that ended it; empty: none
    std::string error_line;                  ///< of the program, where it left PyTorch; empty: none
    std::string torch;                       ///< PyTorch's version
    std::vector<std::string> architectures;  ///< for which its kernels are compiled, such as "sm_90"; empty: not known
    std::vector<int> cards;  ///< by number, those that it took memory of. The next three are of the card of which PyTorch took most
    std::int64_t card_peak_bytes = 0;  ///< by PyTorch's allocator and all others
    std::int64_t allocated_bytes = 0;
    std::int64_t reserved_bytes = 0;
    std::vector<std::int64_t> step_times_us;  ///< when each optimizer step was done, since 1970
    std::vector<ValueRead> value_reads;
    std::vector<SizeFromData> sizes_from_data;
    std::vector<std::string> card_questions;  ///< lines of the program that read how large the card is, or how much of it is free

    /// PyTorch's error for it left the program. One that the program caught did not.
    [[nodiscard]] bool ran_out_of_memory() const { return error.find("OutOfMemoryError") != std::string::npos; }
};

struct ProgramEnd {
    int status = 0;                                 ///< of the program; 128 + the signal's number if one ended it
    bool timed_out = false;                         ///< it was ended by the limit
    std::optional<std::string> torch_without_cuda;  ///< its version: the program imported a PyTorch without CUDA
    std::string refused;                            ///< why there is no virtual card for the program's PyTorch; empty: there is one
    std::vector<RecordedProcess> processes;         ///< sorted: those that ran out of memory, then those that took more
    std::vector<std::string> not_modelled;  ///< functions that were called, or that a new PyTorch asks for, and that the card does not have
    std::int64_t convolution_bytes = 0;     ///< that the largest convolution of cuDNN reads and writes
    std::vector<std::string> untried;       ///< a PyTorch that is newer than those that were tried on a virtual card
    std::string last_words;                 ///< the last line that the program printed; empty: none
    double seconds = 0;
    bool wrote_in_place = false;  ///< what it wrote below the current folder is there

    /// Several processes took memory of one card.
    [[nodiscard]] bool shares_card() const;
};

/// Runs a program on a virtual card until its optimizer made some steps, or until it ends. `progress` is called about once a second with
/// the seconds so far. No process of the program is left. Throws Error if it cannot be started.
[[nodiscard]] ProgramEnd run_on_virtual_card(const ProgramRun& run, const std::function<void(double)>& progress);

}  // namespace hpo::tune
