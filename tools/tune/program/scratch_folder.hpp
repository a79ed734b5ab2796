// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hpo::tune {

/// The first word of a command line by which hpo-tune starts itself for become_program().
inline constexpr const char* scratch_word = "--in-scratch-folder";

/// The words that start a program so that what it writes below the current folder is gone afterwards. `folder`: for what it writes.
[[nodiscard]] std::vector<std::string> words_in_scratch(const std::filesystem::path& folder, const std::vector<std::string>& words);

/// The program had to write into the current folder itself: this machine, or that folder, does not allow another one.
[[nodiscard]] bool wrote_in_place(const std::filesystem::path& folder);

/// Called with the words behind scratch_word. Lays an empty folder over the current one (Linux's overlayfs, in a mount namespace of this
/// process) and becomes the program. Returns the exit status for a program that cannot be started.
[[nodiscard]] int become_program(const std::vector<std::string>& words);

/// Why the program could not be started; empty: it was.
[[nodiscard]] std::string why_not_started(const std::filesystem::path& folder);

/// Lets `folder` be removed: overlayfs leaves a folder in it that nobody may read.
void tidy_scratch(const std::filesystem::path& folder);

}  // namespace hpo::tune
