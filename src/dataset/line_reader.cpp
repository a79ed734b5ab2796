// SPDX-License-Identifier: MIT
#include "dataset/line_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "hpo/base/git_lfs.hpp"
#include "hpo/base/utf8.hpp"

namespace hpo::dataset {

bool LineReader::next() {
    offset_ += taken_;
    line_.clear();
    bool ended = false;
    while (!ended) {
        if (at_ == filled_) {
            filled_ = file_.read(buffer_);
            at_ = 0;
            if (filled_ == 0) break;
        }
        const std::uint8_t* const begin = buffer_.data() + at_;
        const auto* const newline = static_cast<const std::uint8_t*>(std::memchr(begin, '\n', filled_ - at_));
        const std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - begin) : filled_ - at_;
        if (line_.size() + length > longest_line_bytes) throw refusal(number_ + 1, "a line of more than 256 MiB");
        line_.append(reinterpret_cast<const char*>(begin), length);
        ended = newline != nullptr;
        at_ += length + (ended ? 1 : 0);
    }
    taken_ = line_.size() + (ended ? 1 : 0);
    if (taken_ == 0) return false;
    ++number_;
    if (const auto bad = find_invalid_utf8(line_); bad != std::string::npos) {
        throw refusal(number_, "invalid UTF-8 at byte " + std::to_string(offset_ + bad) + " of the file; expected a file in UTF-8");
    }
    if (number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
    if (number_ == 1 && is_git_lfs_pointer(line_)) throw file_.refusal(std::string{git_lfs_advice});
    return true;
}

}  // namespace hpo::dataset
