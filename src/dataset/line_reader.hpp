// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/dataset/input_file.hpp"

namespace hpo::dataset {

/// Reads the lines of a text file, and checks that each is UTF-8. It skips a byte order mark at the beginning.
class LineReader {
public:
    static constexpr std::size_t longest_line_bytes = std::size_t{1} << 28;

    LineReader(const std::filesystem::path& file, std::string_view expected) : file_{file, expected}, buffer_(1U << 18) {}

    /// Reads the next line. Returns false at the end of the file. Throws Error that names file and line. If the line is not UTF-8, the
    /// error also names the byte in the uncompressed file.
    bool next();

    /// The line without its "\n". A "\r" before that is kept, because a quoted field may contain it.
    [[nodiscard]] std::string_view text() const noexcept { return line_; }
    [[nodiscard]] bool blank() const noexcept { return line_.empty() || line_ == "\r"; }
    /// The number of the line. The first line is 1.
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }
    [[nodiscard]] const std::string& file_name() const noexcept { return file_.name(); }

    /// `FILE:LINE`, as in a compiler's message.
    [[nodiscard]] std::string place(std::int64_t line) const { return file_.name() + ":" + std::to_string(line); }
    [[nodiscard]] Error refusal(std::int64_t line, const std::string& what) const {
        return Error{Errc::bad_value, place(line) + ": " + what};
    }

private:
    InputFile file_;
    std::vector<std::uint8_t> buffer_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    std::string line_;
    std::size_t offset_ = 0;  ///< where the line begins in the file
    std::size_t taken_ = 0;   ///< bytes of the line, its end included
    std::int64_t number_ = 0;
};

}  // namespace hpo::dataset
