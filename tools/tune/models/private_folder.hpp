// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/base/error.hpp"

namespace hpo::tune {

/// A folder that nobody else writes to, and that goes with what it has.
class PrivateFolder {
public:
    PrivateFolder() {
        std::error_code failed;
        const std::filesystem::path home = std::filesystem::temp_directory_path(failed);
        const char* const given = std::getenv("TMPDIR");
        if (failed) throw Error{Errc::usage, "TMPDIR: " + std::string{given != nullptr ? given : "/tmp"} + ": " + failed.message()};
        std::string pattern = (home / "hpo-tune-XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw Error{Errc::usage, "TMPDIR: " + pattern + ": cannot be made: " + std::strerror(errno)};
        path_ = pattern;
    }
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    ~PrivateFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace hpo::tune
