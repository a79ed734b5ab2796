// SPDX-License-Identifier: MIT
#include "tune/optimize/python_package.hpp"

#include <system_error>

#include "hpo/base/error.hpp"

namespace hpo::tune {

std::string python_path(const std::optional<std::string>& present) {
    std::error_code failed;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
    const std::filesystem::path folder = program.parent_path().parent_path() / "share" / "hpo" / "python";
    const std::filesystem::path takeover = folder / "hpo" / "takeover";
    if (!std::filesystem::exists(takeover / "sitecustomize.py", failed))
        throw Error{Errc::usage, takeover.string() + ": hpo's package for Python is not there; it belongs beside the folder of hpo-tune"};
    const std::string own = takeover.string() + ":" + folder.string();
    if (!present || present->empty() || present->starts_with(own)) return present && !present->empty() ? *present : own;
    return own + ":" + *present;
}

}  // namespace hpo::tune
