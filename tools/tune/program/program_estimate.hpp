// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/base/error.hpp"
#include "tune/program/program_run.hpp"

namespace hpo::tune {

/// As the virtual card reports it (virtual_card/src/libraries.cpp). Not modelled. PyTorch takes it only if there is room: without, it goes
/// on to the next algorithm (aten/src/ATen/native/cudnn/Conv_v8.cpp, try_plans). So a program fits without it.
inline constexpr std::string_view cudnn_workspace = "cuDNN's workspace";

/// The same for attention. What it takes for this is not known, and PyTorch does not go on without it.
inline constexpr std::string_view attention_workspace = "cuDNN's workspace for attention";

/// A card of this compute capability, such as 86, runs kernels for one of the architectures, as torch.cuda.get_arch_list() names them: code
/// that is compiled for the same major version and no newer minor one, or PTX of no newer one. "sm_90a" is for 9.0 alone.
[[nodiscard]] bool runs_on(int capability, const std::vector<std::string>& architectures);

/// What is known of a program after it ran on a virtual card. Memory in bytes.
struct ProgramEstimate {
    /// The most that the program held until the end of a step, since the end of the one before.
    struct StepPeak {
        std::int64_t allocated = 0;
        std::int64_t reserved = 0;
    };

    ProgramRun run;
    ProgramEnd end;
    allocator::Recording recording;  ///< of the process that took most
    allocator::TraceMoment holders;  ///< at the peak
    std::vector<StepPeak> steps;
    std::int64_t allocated_peak = 0;
    std::int64_t reserved_peak = 0;
    std::int64_t beside_bytes = 0;          ///< at least so much was taken beside PyTorch's allocator, without the context
    std::int64_t least_card = 0;            ///< least memory of a card that serves every request, with the context
    std::size_t caught = 0;                 ///< so many requests were refused, and the program went on
    std::optional<std::string> fails_line;  ///< the program ran out of memory: by which line of its own,
    std::int64_t fails_bytes = 0;           ///< and for how much

    [[nodiscard]] const RecordedProcess& process() const { return end.processes.front(); }
    /// On another card it may take another amount: it looks at the card's size, or tries what fits.
    [[nodiscard]] bool adapts() const { return caught > 0 || !process().card_questions.empty(); }
    /// It may take more than what was counted, without cuDNN's workspaces.
    [[nodiscard]] bool at_least() const;
    /// It may take less: a size that depends on data was assumed as large as it can be, or nothing is known of it.
    [[nodiscard]] bool at_most() const;
    /// The program failed, and not for memory: with which error, and at which line; empty: it did not.
    [[nodiscard]] std::string failure() const;
    /// True if the program ended at a line that reads a value of the card, with an error that values cause.
    [[nodiscard]] bool fails_by_made_up_value() const;
    /// The card's architecture is one for which the program's PyTorch has no kernels.
    [[nodiscard]] bool lacks_kernels() const;
    /// All that is not known is how much cuDNN takes for attention. The program fits if that is less than this; nullopt: more is not known.
    [[nodiscard]] std::optional<std::int64_t> room_for_attention() const;
    /// What it needs is known: no request failed, behind which there would have been others.
    [[nodiscard]] bool need_known() const { return !fails_line; }
    /// Why it is not known if the program fits; empty: it is known. A failure is told first.
    [[nodiscard]] std::string unknown() const;
    /// The same if these functions alone were not modelled.
    [[nodiscard]] std::string unknown_with(const std::vector<std::string>& not_modelled) const;
    /// A line as people are shown it. PyTorch records the stacks of Python here, and what autograd's threads take has none.
    [[nodiscard]] static std::string shown_line(const std::string& line) {
        return line == "(no stack recorded)" ? "(autograd, no line of Python)" : line;
    }
};

/// Throws Error if the program took nothing of the card that was recorded.
[[nodiscard]] ProgramEstimate estimate_from(const ProgramRun& run, ProgramEnd end);

}  // namespace hpo::tune
