// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/trainer/sampling_times.hpp"
#include "hpo/trainer/trainer.hpp"
#include "kept_program.hpp"
#include "line_stream.hpp"
#include "memory_group.hpp"
#include "output_log.hpp"
#include "program_lines.hpp"
#include "tree_memory.hpp"

namespace hpo::command {

/// One run of a program: hears what it says, ends it if that is asked for, and tells how it went.
class Attempt {
public:
    struct Settings {
        std::chrono::milliseconds grace{5000};  ///< from SIGTERM to SIGKILL
        std::size_t objectives = 1;
        std::string device = "cpu";               ///< of the plan
        std::optional<std::int64_t> cap_bytes{};  ///< most that the program may take of its device
        /// What the CUDA context is taken to be. PyTorch does not tell it, and predictions for a program count it.
        std::int64_t context_bytes = 0;
        bool hard_limit = false;  ///< on a CPU, the kernel holds the program to `cap_bytes`, too
        std::string account{};    ///< file of the device's shared account (device/metered_device.hpp); empty: it has none
    };
    Attempt(const ProgramStart& start, Settings settings, hpo::Progress& progress);

    [[nodiscard]] hpo::AttemptOutcome run();

private:
    void hear(const ProgramLine& said);
    [[nodiscard]] std::string answer_to(const ProgramLine::Question& question);
    /// Tells now and then that the program says something.
    void tell_alive();
    void hear_line(std::string_view text, bool whole);
    void malformed(const std::string& what);
    void stop_if_asked();
    /// Puts the program into a control group with its limit, if that is asked for.
    void limit_memory();
    /// Tells if the kernel has ended the program, because the control group was full.
    void see_group();
    /// The most that the program may take of its device.
    [[nodiscard]] std::optional<std::int64_t> share();
    void look_at_memory();
    /// Tells the device's account what the program takes now. Ends the program if it takes more than it may, or did between two looks.
    void take(const TreeMemory::Look& look);
    void ended_for_memory(const std::string& why, const std::string& who, hpo::MemoryReading reading);
    void end_for_memory(const std::string& why, hpo::MemoryReading reading);
    /// What the failure's message does not tell of the memory, as the program told it last.
    void add_told_memory(hpo::Failure& failure) const;
    void read_all();
    void read_rest();
    [[nodiscard]] hpo::AttemptOutcome outcome(const ProgramEnd& end, std::optional<bool> host_memory_was_short);
    /// What the attempt took of its device: on a CPU what the program told before what was seen, on a GPU with the context.
    [[nodiscard]] std::optional<std::int64_t> reserved_peak() const;
    [[nodiscard]] hpo::Failure without_value(const ProgramEnd& end) const;

    static constexpr double least_pause = 0.05;  ///< seconds between two looks at the memory

    Settings settings_;
    hpo::Progress& progress_;
    hpo::Stopwatch watch_;
    KeptProgram program_;
    LineStream output_, error_output_, reports_;
    OutputLog output_log_, error_log_;
    std::vector<double> values_;
    std::optional<hpo::Report> last_report_;
    hpo::Attributes attributes_;
    std::map<std::string, double, std::less<>> constraints_;
    std::optional<hpo::MemoryReading> told_peak_;  ///< the highest that the program told
    hpo::MemoryReading told_;                      ///< the last that it told
    TreeMemory tree_;
    hpo::SamplingTimes sampling_times_;
    double next_look_ = least_pause;         ///< seconds after the start; the peak of a shorter program is exact without
    std::optional<std::int64_t> seen_peak_;  ///< bytes: the highest that was seen from outside
    std::optional<hpo::device::MeteredDevice> account_;
    std::int64_t charged_ = 0;              ///< bytes that the account holds for this attempt
    std::optional<hpo::Failure> too_much_;  ///< set once the program was ended because of its memory
    std::optional<MemoryGroup> group_;
    std::int64_t malformed_ = 0;
    std::string first_malformed_;
    bool pruned_ = false;               ///< it said that it is not worth finishing
    std::string prune_reason_;          ///< in its own words
    bool goes_on_ = true;               ///< what was answered to its latest report
    bool asks_ = false;                 ///< it has asked whether it should stop, so it can stop by itself
    std::optional<double> told_alive_;  ///< seconds of watch_
    std::uint64_t heard_bytes_ = 0;     ///< of all that the program printed and reported
    bool heard_verdict_ = false;        ///< what it was answered last: that it should stop
    std::optional<hpo::Stopwatch> since_stop_;
    int signals_sent_ = 0;
};

}  // namespace hpo::command
