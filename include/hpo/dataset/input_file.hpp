// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"

namespace hpo::dataset {

/// Reads the bytes of a file from its beginning to its end. The file may be compressed with gzip.
class InputFile {
public:
    /// Throws Error that names the file. If there is no file, the error says what it should be: `expected`.
    InputFile(const std::filesystem::path& file, std::string_view expected) : name_{file.string()}, stream_{nullptr, &gzclose} {
        std::error_code unreadable;
        if (!std::filesystem::is_regular_file(file, unreadable)) throw refusal("no such file; expected " + std::string{expected});
        stream_.reset(gzopen(file.c_str(), "rb"));
        if (!stream_) throw refusal("cannot be opened");
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Fills `to`, and returns how many bytes it read. These are fewer than its size only at the end of the file. Throws Error if
    /// compressed data is damaged or ends too early.
    [[nodiscard]] std::size_t read(std::span<std::uint8_t> to) {
        std::size_t done = 0;
        while (done < to.size()) {
            const auto piece = static_cast<unsigned>(std::min<std::size_t>(to.size() - done, 1U << 24));
            const int got = gzread(stream_.get(), to.data() + done, piece);
            if (got > 0) {
                done += static_cast<std::size_t>(got);
                continue;
            }
            int status = Z_OK;
            const std::string reason = gzerror(stream_.get(), &status);
            if (got < 0) throw refusal("damaged: " + reason);
            if (status == Z_BUF_ERROR) throw refusal("cut short: its compressed data has no end");
            break;
        }
        return done;
    }

    /// An error with the text `FILE: what`.
    [[nodiscard]] Error refusal(const std::string& what) const { return Error{Errc::bad_value, name_ + ": " + what}; }

private:
    std::string name_;
    std::unique_ptr<gzFile_s, decltype(&gzclose)> stream_;
};

}  // namespace hpo::dataset
