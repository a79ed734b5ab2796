// SPDX-License-Identifier: MIT
#include "hpo/store/location.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/base/error.hpp"

namespace hpo::store {

std::string file_of(const std::string& address) {
    constexpr const char* expected = "a path, or sqlite:///relative.db, or sqlite:////absolute.db";
    std::string path = address;
    if (const auto separator = address.find("://"); separator != std::string::npos) {
        const std::string scheme = address.substr(0, separator);
        if (scheme != "sqlite") throw bad_value("store '" + address + "'", "an address of kind '" + scheme + "'", expected);
        if (address.substr(separator + 3, 1) != "/") throw bad_value("store '" + address + "'", "no file", expected);
        path = address.substr(separator + 4);
    }
    if (path.empty() || path == ":memory:") throw bad_value("store '" + address + "'", "no file", expected);
    return path;
}

void require_openable(const std::string& path, bool may_create) {
    const auto refuse = [&](const std::string& what) { throw Error{Errc::store, "store '" + path + "': " + what}; };
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) refuse("is a directory; expected a file");
    if (std::filesystem::exists(path, error)) {
        if (!std::filesystem::is_regular_file(path, error)) refuse("is not a regular file");
        return;
    }
    if (!may_create) refuse("does not exist");
    const auto directory = std::filesystem::path{path}.parent_path();
    if (!directory.empty() && !std::filesystem::is_directory(directory, error))
        refuse("its directory does not exist: " + directory.string());
}

}  // namespace hpo::store
