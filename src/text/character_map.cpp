// SPDX-License-Identifier: MIT
#include "text/character_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"

namespace hpo::text {

CharacterMap::CharacterMap(std::string_view stored, const std::string& place) {
    if (stored.empty()) return;
    const std::uint64_t trie_bytes = stored.size() < sizeof(Unit) ? 0 : unit_at(stored, 0);
    if (trie_bytes == 0 || trie_bytes % sizeof(Unit) != 0 || trie_bytes > stored.size() - sizeof(Unit) || stored.back() != '\0')
        throw Error{Errc::bad_value, place + ": damaged: precompiled_charsmap: its sizes do not fit its bytes"};
    units_.reserve(trie_bytes / sizeof(Unit));
    for (std::size_t at = sizeof(Unit); units_.size() < trie_bytes / sizeof(Unit); at += sizeof(Unit))
        units_.push_back(unit_at(stored, at));
    texts_ = stored.substr(sizeof(Unit) + static_cast<std::size_t>(trie_bytes));
}

std::optional<CharacterMap::Rule> CharacterMap::find(std::string_view text) const {
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
        if (begin >= texts_.size()) break;  // only happens in a damaged file
        found = {i + 1, std::string_view{texts_}.substr(begin, texts_.find('\0', begin) - begin)};
    }
    return found;
}

CharacterMap::Unit CharacterMap::unit_at(std::string_view bytes, std::size_t at) {
    Unit unit = 0;
    for (std::size_t i = 0; i < sizeof(Unit); ++i) unit |= Unit{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
    return unit;
}

}  // namespace hpo::text
