// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::weights {

/// A whole file as read-only memory. A page is loaded when it is first read.
/// The file must not become shorter meanwhile, because the system ends a process that reads after the end. `write_safetensors` never
/// shortens a file. It writes a new one and replaces the old one.
class MappedFile {
public:
    explicit MappedFile(const std::filesystem::path& file) {
        const auto refuse = [&](const std::string& what) { return Error{Errc::bad_value, file.string() + ": " + what}; };
        const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) throw refuse(std::strerror(errno));
        struct ::stat status {};
        const bool known = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
        if (known && status.st_size > 0) {
            size_ = static_cast<std::size_t>(status.st_size);
            data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
        }
        const int reason = errno;
        ::close(descriptor);
        if (!known) throw refuse("not a regular file");
        if (data_ == MAP_FAILED) throw refuse(std::string{"cannot be mapped: "} + std::strerror(reason));
    }
    MappedFile(MappedFile&& other) noexcept : data_{std::exchange(other.data_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~MappedFile() {
        if (data_ != nullptr) ::munmap(data_, size_);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(data_), size_}; }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace hpo::weights
