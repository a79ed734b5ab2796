// SPDX-License-Identifier: MIT
#include "tune/study_run/rescued_store.hpp"

#include <optional>
#include <system_error>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::tune {
namespace {

namespace fs = std::filesystem;

/// The first of hpo.db.rescued-1, -2, ... that is free. Another process may take it meanwhile; then the next one is tried.
std::string rescue_in(const fs::path& folder, store::Sqlite& store) {
    const std::string begin = (folder / (fs::path{store.path()}.filename().string() + ".rescued-")).string();
    constexpr int most = 10'000;
    for (int number = 1;; ++number) {
        const std::string path = begin + std::to_string(number);
        std::error_code error;
        const bool taken = fs::exists(fs::symlink_status(path, error));
        if (taken && number < most) continue;
        try {
            store.copy_to(path);
            return path;
        } catch (const Error&) {
            if (number == most || !fs::exists(fs::symlink_status(path, error))) throw;
        }
    }
}

}  // namespace

std::string rescue(store::Sqlite& store) {
    std::error_code error;
    std::vector<fs::path> folders{fs::path{store.path()}.parent_path()};
    for (const fs::path& other : {fs::current_path(error), fs::temp_directory_path(error)}) {
        if (!other.empty()) folders.push_back(other);
    }
    std::optional<Error> first;
    for (const fs::path& folder : folders) {
        try {
            return rescue_in(folder, store);
        } catch (const Error& refused) {
            if (!first) first = refused;
        }
    }
    throw *first;
}

}  // namespace hpo::tune
