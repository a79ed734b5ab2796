// SPDX-License-Identifier: MIT
#include "tune/optimize/python_package.hpp"

#include "hpo/base/error.hpp"
#include "support/installation.hpp"

namespace hpo::tune {

std::string python_path(const std::optional<std::string>& present) {
    const std::filesystem::path folder = tools::installation() / "share/hpo/python";
    const std::filesystem::path takeover = folder / "hpo" / "takeover";
    if (!std::filesystem::exists(takeover / "sitecustomize.py"))
        throw Error{Errc::usage, takeover.string() + ": hpo's package for Python is not there; it belongs beside the folder of hpo-tune"};
    const std::string own = takeover.string() + ":" + folder.string();
    if (!present || present->empty() || present->starts_with(own)) return present && !present->empty() ? *present : own;
    return own + ":" + *present;
}

}  // namespace hpo::tune
