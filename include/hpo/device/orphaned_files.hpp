// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/base/process_identity.hpp"

namespace hpo::device {

/// Removes files that dead processes left in a folder. Their names are `prefix`, then the process id, then more text.
inline void remove_orphaned_files(const std::filesystem::path& folder, std::string_view prefix) {
    std::error_code ignored;
    for (const auto& item : std::filesystem::directory_iterator{folder, ignored}) {
        const std::string name = item.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::int64_t pid = 0;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
        if (pid > 0 && !is_alive({.pid = pid})) std::filesystem::remove(item.path(), ignored);
    }
}

}  // namespace hpo::device
