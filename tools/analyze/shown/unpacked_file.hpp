// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <array>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace hpo::analyze {

/// The bytes of a file or pipe, unpacked if gzip packed them. It can be read again from its beginning as long as no more than its first
/// bytes were read.
class UnpackedFile final : public std::streambuf {
public:
    /// Check is_open afterwards; errno then says why it cannot be opened.
    explicit UnpackedFile(const std::string& path) : file_{gzopen(path.c_str(), "rb"), &gzclose} {
        if (file_) gzbuffer(file_.get(), bytes_at_once);
    }

    [[nodiscard]] bool is_open() const noexcept { return file_ != nullptr; }

    /// What is wrong with the file. Empty if it was read to its end.
    [[nodiscard]] std::string error() const {
        int status = Z_OK;
        const char* const text = gzerror(file_.get(), &status);
        if (status == Z_BUF_ERROR) return "its compressed data has no end";
        return status == Z_OK || status == Z_STREAM_END ? std::string{} : text;
    }

    /// The first bytes of the file, which are not taken by this.
    [[nodiscard]] std::string_view beginning() {
        if (is_first_ && underflow() == traits_type::eof()) return {};
        return {eback(), static_cast<std::size_t>(egptr() - eback())};
    }

protected:
    int_type underflow() override {
        if (gptr() == egptr()) {
            const int got = gzread(file_.get(), bytes_.data(), bytes_at_once);
            if (got <= 0) return traits_type::eof();  // what was read before stays
            is_first_ = gptr() == nullptr;
            setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
        }
        return traits_type::to_int_type(*gptr());
    }
    pos_type seekpos(pos_type position, std::ios_base::openmode) override {
        if (position != pos_type{0} || !is_first_) return pos_type{off_type{-1}};
        setg(eback(), eback(), egptr());
        return position;
    }

private:
    static constexpr unsigned bytes_at_once = 1U << 16U;
    std::unique_ptr<gzFile_s, decltype(&gzclose)> file_;
    std::array<char, bytes_at_once> bytes_;
    bool is_first_ = true;  ///< nothing but the first bytes were read
};

}  // namespace hpo::analyze
