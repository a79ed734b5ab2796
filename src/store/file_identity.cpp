// SPDX-License-Identifier: MIT
#include "hpo/store/file_identity.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace hpo::store {

std::optional<FileIdentity> file_identity(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return FileIdentity{static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

/// The name that a file has now, by the links of the kernel to the open files of this process. Returns nullopt if it has none.
std::optional<std::string> name_of_open_file(const FileIdentity& opened) {
    constexpr std::string_view deleted = " (deleted)";
    std::error_code error;
    for (std::filesystem::directory_iterator link{"/proc/self/fd", error}, end; !error && link != end; link.increment(error)) {
        if (file_identity(link->path().string()) != opened) continue;
        std::error_code unreadable;
        const std::string name = std::filesystem::read_symlink(link->path(), unreadable).string();
        if (!unreadable && !name.ends_with(deleted) && file_identity(name) == opened) return name;
    }
    return std::nullopt;
}

std::optional<std::string> displacement(const std::string& path, const FileIdentity& opened) {
    struct stat status {};
    const bool is_there = stat(path.c_str(), &status) == 0;
    if (!is_there && errno != ENOENT && errno != ENOTDIR) return std::nullopt;  // such as a folder that may no longer be searched
    if (is_there && file_identity(path) == opened) return std::nullopt;
    const auto name = name_of_open_file(opened);
    const std::string renamed = name ? "was renamed to '" + *name + "'" : "";
    if (!is_there) return name ? renamed : "was removed";
    return name ? renamed + ", and another file took its place" : "was replaced by another file";
}

}  // namespace hpo::store
