// SPDX-License-Identifier: MIT
//
// Preloaded into every process of a program that is predicted. A script that sets PYTHONPATH anew would lose what makes Python load the virtual
// card. So before Python reads the variable, the folder of this library's Python modules is put back.
#include <cstdlib>
#include <string>

namespace {

__attribute__((constructor)) void put_back() {
    const char* const wanted = std::getenv("HPO_PREDICTION_PYTHON");
    if (wanted == nullptr) return;
    const char* const present = std::getenv("PYTHONPATH");
    const std::string path = present == nullptr ? "" : present;
    if ((":" + path + ":").find(":" + std::string{wanted} + ":") != std::string::npos) return;
    ::setenv("PYTHONPATH", (path.empty() ? wanted : std::string{wanted} + ":" + path).c_str(), 1);
}

}  // namespace
