// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/terminal.hpp"

namespace hpo::tools {

/// The last lines of a terminal as a block that is redrawn in place, while other lines scroll by above it.
///
/// A frame is one write, within a synchronised update (DEC mode 2026; other terminals ignore it). It erases nothing before it has written
/// over it, so nothing flickers. Sizes are asked before each frame, so a terminal may be resized at any time. One at a time. Thread safety:
/// none.
class Screen {
public:
    explicit Screen(int descriptor) : descriptor_{descriptor} { current = this; }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen();

    [[nodiscard]] TerminalSize size() const { return terminal_size(descriptor_); }
    /// Writes `above` where the block began, and the block below it: as many of its lines as the terminal has rows for, cut to its width.
    void draw(const std::vector<std::string>& above, const std::vector<std::string>& block);
    /// Removes the block.
    void clear() { draw({}, {}); }
    /// Removes the block of the screen that there is, so that others can write.
    static void make_room();

    /// What `draw` writes on a terminal of this size.
    [[nodiscard]] std::string frame(const std::vector<std::string>& above, const std::vector<std::string>& block, TerminalSize size);

private:
    inline static Screen* current = nullptr;
    int descriptor_;
    std::vector<std::size_t> drawn_;  ///< columns of each line of the block that stands there
};

/// All of `text` to `descriptor`, or as much of it as can be written.
void write_all(int descriptor, std::string_view text);

}  // namespace hpo::tools
