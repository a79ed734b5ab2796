// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::text {

/// The rules by which a SentencePiece model rewrites characters before it cuts a text. Each rule replaces some bytes by others, and the
/// longest rule that fits is used. They are stored as a double-array trie (Aoe 1989; Yata's layout of 32-bit units). Its leaves point to
/// the texts.
class CharacterMap {
public:
    struct Rule {
        std::size_t bytes;  ///< of the text that it replaces
        std::string_view replacement;
    };

    CharacterMap() = default;  ///< no rules
    /// Reads `precompiled_charsmap`. Throws Error that names the place if sizes do not fit.
    CharacterMap(std::string_view stored, const std::string& place);

    /// The rule for the longest possible beginning of a text. Returns nullopt if no rule fits.
    [[nodiscard]] std::optional<Rule> find(std::string_view text) const;

private:
    using Unit = std::uint32_t;
    static constexpr Unit has_leaf = 1U << 8U;
    static constexpr Unit value_bits = (1U << 31U) - 1;
    static constexpr Unit label_bits = 1U << 31U | 0xFFU;  // a leaf has the highest bit, so it never equals a label
    [[nodiscard]] static std::size_t offset(Unit unit) { return std::size_t{unit >> 10U} << ((unit >> 9U & 1U) * 8U); }
    [[nodiscard]] static Unit unit_at(std::string_view bytes, std::size_t at);

    std::vector<Unit> units_;
    std::string texts_;  ///< each ends in a zero byte
};

}  // namespace hpo::text
