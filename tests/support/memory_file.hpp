// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "support/temporary_directory.hpp"

namespace hpo::tests {

/// A file of a given name whose content is in memory: a link to what no disk has. For tests that write and read it thousands of times.
class MemoryFile {
public:
    explicit MemoryFile(const std::string& name) : descriptor_{memfd_create(name.c_str(), MFD_CLOEXEC)}, path_{directory_.file(name)} {
        if (descriptor_ < 0) throw std::system_error{errno, std::generic_category(), "memfd_create"};
        std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(descriptor_), path_);
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    /// Takes the place of what is there.
    void write(std::string_view content) const {
        const bool written = ftruncate(descriptor_, 0) == 0 &&
                             pwrite(descriptor_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
        if (!written) throw std::system_error{errno, std::generic_category(), path_};
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    TemporaryDirectory directory_;
    int descriptor_;
    std::string path_;
};

}  // namespace hpo::tests
