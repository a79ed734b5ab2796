// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hpo::tests {

/// NAME of the library that this code was loaded with, libhpo_trainer_NAME.so. So one library under many names can be many trainers
/// (hpo_add_renamed_trainers).
inline std::string own_trainer_name() {
    static const char here = 0;
    Dl_info info{};
    if (dladdr(&here, &info) == 0 || !info.dli_fname) std::abort();
    return std::filesystem::path{info.dli_fname}.stem().string().substr(std::string{"libhpo_trainer_"}.size());
}

}  // namespace hpo::tests
