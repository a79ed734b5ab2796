// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/failure.hpp"

namespace hpo::analysis::detail {

/// The words of letters alone, without single letters.
[[nodiscard]] std::vector<std::string_view> letters_of(std::string_view text);

/// The place of the words that say that memory ran out.
struct WordsPlace {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool host = false;
};

/// The first such words of a line in lower case. Letters and underscores beside them make them a name, as in oom_handler.
[[nodiscard]] std::optional<WordsPlace> memory_words_place(std::string_view lower);

/// True if a line says that its program predicted an out-of-memory: "out of memory predicted (11.2 GiB needed)", "batch 64 would OOM",
/// "predicted peak 12.0 GiB exceeds 10.75 GiB". False for an allocator's message, and for a text of several lines.
[[nodiscard]] bool predicts_oom(std::string_view text);

/// True if a text says that something was left out: "skipping batch 64", "trial refused".
[[nodiscard]] bool says_refused(std::string_view text);

/// The failure of a trial that its own program refused. `reason` is what the program said.
[[nodiscard]] Failure refused_by_program(std::string reason);

}  // namespace hpo::analysis::detail
