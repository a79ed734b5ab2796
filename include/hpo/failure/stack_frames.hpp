// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace hpo {

/// An error's text without the lines of C++ stack frames that LibTorch adds to its messages ("Exception raised from …", "frame #0: …"). A
/// text without such lines is unchanged.
[[nodiscard]] inline std::string without_frames(std::string_view text) {
    std::string said;
    bool found = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string_view line = text.substr(at, end == std::string_view::npos ? end : end - at + 1);
        if (line.starts_with("Exception raised from ") || line.starts_with("frame #")) found = true;
        else said += line;
        at += line.size();
    }
    if (!found) return std::string{text};
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return said;
}

/// An error's text without the advice of LibTorch's dispatcher. An operator that a device lacks makes a text of a kilobyte or more: one
/// sentence that says so, then what the reason may be, then a list of all devices. Only the sentence stays. Other texts are unchanged.
[[nodiscard]] inline std::string_view without_dispatcher_advice(std::string_view text) {
    return text.substr(0, text.find(" This could be because the operator doesn't exist for this backend"));
}

}  // namespace hpo
