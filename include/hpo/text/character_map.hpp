// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"

namespace hpo::text {

/// How a SentencePiece model rewrites characters before it cuts a text: rules from some bytes to others, of which the longest that fits
/// is used. They are stored as a double-array trie (Aoe 1989; Yata's layout of 32-bit units) and the texts that its leaves point to.
class CharacterMap {
public:
    struct Rule {
        std::size_t bytes;  ///< of the text that it replaces
        std::string_view replacement;
    };

    CharacterMap() = default;  ///< no rules
    /// Reads `precompiled_charsmap`. Throws Error naming the place when sizes do not fit.
    CharacterMap(std::string_view stored, const std::string& place) {
        if (stored.empty()) return;
        const std::uint64_t trie_bytes = stored.size() < sizeof(Unit) ? 0 : unit_at(stored, 0);
        if (trie_bytes == 0 || trie_bytes % sizeof(Unit) != 0 || trie_bytes > stored.size() - sizeof(Unit) || stored.back() != '\0')
            throw Error{Errc::bad_value, place + ": damaged: precompiled_charsmap has not the bytes that it announces"};
        units_.reserve(trie_bytes / sizeof(Unit));
        for (std::size_t at = sizeof(Unit); units_.size() < trie_bytes / sizeof(Unit); at += sizeof(Unit))
            units_.push_back(unit_at(stored, at));
        texts_ = stored.substr(sizeof(Unit) + static_cast<std::size_t>(trie_bytes));
    }

    /// The rule for the longest beginning of a text that has one.
    [[nodiscard]] std::optional<Rule> find(std::string_view text) const {
        std::optional<Rule> found;
        if (units_.empty()) return found;
        std::size_t at = offset(units_[0]);
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto byte = static_cast<unsigned char>(text[i]);
            at ^= byte;
            if (at >= units_.size() || (units_[at] & label_bits) != byte) break;
            const Unit unit = units_[at];
            at ^= offset(unit);
            if ((unit & has_leaf) == 0) continue;
            const std::size_t begin = at < units_.size() ? units_[at] & value_bits : texts_.size();
            if (begin >= texts_.size()) break;  // no file that was written whole has this
            found = {i + 1, std::string_view{texts_}.substr(begin, texts_.find('\0', begin) - begin)};
        }
        return found;
    }

private:
    using Unit = std::uint32_t;
    static constexpr Unit has_leaf = 1U << 8U;
    static constexpr Unit value_bits = (1U << 31U) - 1;
    static constexpr Unit label_bits = 1U << 31U | 0xFFU;  // a leaf's highest bit makes it no label
    [[nodiscard]] static std::size_t offset(Unit unit) { return std::size_t{unit >> 10U} << ((unit >> 9U & 1U) * 8U); }
    [[nodiscard]] static Unit unit_at(std::string_view bytes, std::size_t at) {
        Unit unit = 0;
        for (std::size_t i = 0; i < sizeof(Unit); ++i) unit |= Unit{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
        return unit;
    }

    std::vector<Unit> units_;
    std::string texts_;  ///< each ends in a zero byte
};

}  // namespace hpo::text
