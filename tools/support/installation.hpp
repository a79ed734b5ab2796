// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <system_error>

namespace hpo::tools {

/// The folder that this program is installed in, or its build tree: that of bin/, lib/ and share/.
[[nodiscard]] inline std::filesystem::path installation() {
    std::error_code failed;
    return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
}

}  // namespace hpo::tools
