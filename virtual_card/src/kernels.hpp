// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace hpo::virtual_card {

/// The kernels that a process's libraries register: for which architectures each was compiled. Programs ask for it and choose by it.
/// Thread-safe.
class Kernels {
public:
    [[nodiscard]] static Kernels& instance();

    /// `wrapper` is what nvcc's code gives to __cudaRegisterFatBinary. Returns a handle for it.
    [[nodiscard]] void** add_binary(const void* wrapper);
    void add_function(void** binary, const void* function);
    /// The architecture, such as 86, whose code a card of this capability would run: the newest of its major version that is not newer than the
    /// card, or else the newest PTX. The card's own for a kernel that is not known.
    [[nodiscard]] int version_of(const void* function, int capability) const;

private:
    struct Binary {
        std::vector<int> compiled;
        std::vector<int> ptx;
    };
    [[nodiscard]] static Binary read(const void* wrapper);

    mutable std::mutex mutex_;
    std::deque<Binary> binaries_;  ///< their addresses are the handles
    std::unordered_map<const void*, const Binary*> functions_;
};

}  // namespace hpo::virtual_card
