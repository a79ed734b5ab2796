// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace hpo::tools {

/// The folder that this program is installed in, or its build tree: that of bin/, lib/ and share/.
[[nodiscard]] inline std::filesystem::path installation() {
    std::error_code failed;
    return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
}

/// The folders of `installation` that may hold what programs load: trainers/ and virtual_card/. A wheel has them in libexec/.
[[nodiscard]] inline std::vector<std::filesystem::path> library_folders() {
    const std::filesystem::path prefix = installation();
    std::vector<std::filesystem::path> folders{prefix / "lib/hpo", prefix / "libexec/hpo"};
    if (std::filesystem::path{HPO_LIBDIR} != "lib") folders.insert(folders.begin() + 1, prefix / HPO_LIBDIR / "hpo");
    return folders;
}

/// True if this installation has a trainer of that name.
[[nodiscard]] inline bool has_trainer(const std::string& name) {
    std::error_code failed;
    return std::ranges::any_of(library_folders(), [&](const std::filesystem::path& folder) {
        return std::filesystem::exists(folder / "trainers" / ("libhpo_trainer_" + name + ".so"), failed);
    });
}

/// True in a build tree, where what is missing can be built.
[[nodiscard]] inline bool is_build_tree() {
    std::error_code failed;
    return std::filesystem::exists(installation() / "CMakeCache.txt", failed);
}

}  // namespace hpo::tools
