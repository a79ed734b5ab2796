// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo {

/// Writes a file under a temporary name and gives it its own name in `commit`. Without `commit` the temporary file is deleted. Throws Error
/// if the name is taken by anything but a regular file, such as a device.
class NewFile {
public:
    explicit NewFile(const std::filesystem::path& file) : final_{file}, name_{file.string() + "." + std::to_string(::getpid()) + ".part"} {
        std::error_code missing;
        const auto present = std::filesystem::status(final_, missing).type();
        if (present != std::filesystem::file_type::not_found && present != std::filesystem::file_type::regular)
            throw Error{Errc::store, final_.string() + ": cannot be written: it exists and is not a regular file"};
        descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (descriptor_ < 0) throw failed();
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() {
        if (descriptor_ < 0) return;
        ::close(descriptor_);
        ::unlink(name_.c_str());
    }
    void write(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto count = ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) throw failed();
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }
    void commit() {
        if (::fsync(descriptor_) != 0 || ::rename(name_.c_str(), final_.c_str()) != 0) throw failed();
        ::close(std::exchange(descriptor_, -1));
    }

private:
    [[nodiscard]] Error failed() const { return {Errc::store, final_.string() + ": cannot be written: " + std::strerror(errno)}; }

    std::filesystem::path final_;
    std::string name_;
    int descriptor_ = -1;
};

}  // namespace hpo
