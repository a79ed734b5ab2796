// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace hpo {

/// Whether a file's content is a Git LFS pointer: a small text in place of a large file that Git LFS has not fetched yet. The beginning of
/// the content is enough. Source: the specification of Git LFS, "The Pointer".
[[nodiscard]] constexpr bool is_git_lfs_pointer(std::string_view content) noexcept {
    return content.starts_with("version https://git-lfs.github.com/spec/");
}

/// What a message says about such a file.
inline constexpr std::string_view git_lfs_advice = "a pointer of Git LFS in place of the file; `git lfs pull` fetches the file itself";

}  // namespace hpo
