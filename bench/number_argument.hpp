// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace bench {

/// The whole number that the program was called with at `place`, at least `least`; `standard` where nothing stands there. Anything else
/// ends the program with a message that ends in `usage`.
[[nodiscard]] inline long number_argument(int count, char** words, int place, long standard, long least, const char* usage) {
    if (count <= place) return standard;
    char* end = nullptr;
    const long value = std::strtol(words[place], &end, 10);
    if (*words[place] != '\0' && *end == '\0' && value >= least && value < std::numeric_limits<int>::max()) return value;
    std::fprintf(stderr, "%s: got '%s'; expected a whole number, at least %ld: %s\n", words[0], words[place], least, usage);
    std::exit(2);
}

}  // namespace bench
