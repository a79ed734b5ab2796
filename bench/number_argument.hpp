// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace bench {

/// The whole numbers that a program is called with. What it cannot take ends it with a message that holds `usage`.
class NumberArguments {
public:
    NumberArguments(int count, char** words, int most, const char* usage) : count_{count}, words_{words}, usage_{usage} {
        if (count <= most + 1) return;
        std::fprintf(stderr, "%s: got %d arguments; expected at most %d: %s\n", words[0], count - 1, most, usage);
        std::exit(2);
    }

    struct Expected {
        long standard = 0;  ///< where nothing stands there
        long least = 0;
    };
    /// The number at a place, counted from 1.
    [[nodiscard]] long at(int place, Expected expected) const {
        if (count_ <= place) return expected.standard;
        char* end = nullptr;
        const long value = std::strtol(words_[place], &end, 10);
        if (*words_[place] != '\0' && *end == '\0' && value >= expected.least && value <= largest) return value;
        std::fprintf(stderr, "%s: got '%s'; expected a whole number from %ld to %ld: %s\n", words_[0], words_[place], expected.least,
                     largest, usage_);
        std::exit(2);
    }

private:
    static constexpr long largest = std::numeric_limits<int>::max();

    int count_;
    char** words_;
    const char* usage_;
};

}  // namespace bench
