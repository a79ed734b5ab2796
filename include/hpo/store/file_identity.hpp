// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hpo::store {

/// Which file it is, whatever its name: two names with the same identity are one file.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// The file that has this name now. Returns nullopt if there is none, or if it cannot be asked for.
[[nodiscard]] std::optional<FileIdentity> file_identity(const std::string& path);

/// What happened to a file that this process has open, in words: "was removed", "was renamed to 'old.db'", "was replaced by another file".
/// Returns nullopt if the name still leads to it, or if that cannot be known.
[[nodiscard]] std::optional<std::string> displacement(const std::string& path, const FileIdentity& opened);

}  // namespace hpo::store
