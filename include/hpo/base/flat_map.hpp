// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hpo {

/// A map that is a sorted vector, for few entries or for entries that come in the order of their keys. It takes a fraction of the memory of
/// std::map, and has the members of it that hpo uses. A new entry moves the entries after it, so it invalidates references and iterators.
/// Iterators do not change entries: `[]` does.
template <class Key, class Value>
class FlatMap {
public:
    using value_type = std::pair<Key, Value>;
    using const_iterator = typename std::vector<value_type>::const_iterator;
    /// What a key is looked up by: a view of a text, else the key.
    using Lookup = std::conditional_t<std::is_convertible_v<const Key&, std::string_view>, std::string_view, Key>;

    FlatMap() = default;
    /// Of entries with equal keys, the first one counts.
    FlatMap(std::initializer_list<value_type> entries) : FlatMap(entries.begin(), entries.end()) {}
    template <class Iterator>
    FlatMap(Iterator first, Iterator last) {
        for (; first != last; ++first) emplace(first->first, first->second);
    }

    [[nodiscard]] const_iterator begin() const noexcept { return entries_.begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return entries_.end(); }
    [[nodiscard]] auto rbegin() const noexcept { return entries_.rbegin(); }
    [[nodiscard]] auto rend() const noexcept { return entries_.rend(); }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    [[nodiscard]] const_iterator lower_bound(Lookup key) const {
        return std::lower_bound(begin(), end(), key, [](const value_type& entry, const Lookup& wanted) { return entry.first < wanted; });
    }
    [[nodiscard]] const_iterator upper_bound(Lookup key) const {
        return std::upper_bound(begin(), end(), key, [](const Lookup& wanted, const value_type& entry) { return wanted < entry.first; });
    }
    [[nodiscard]] const_iterator find(Lookup key) const {
        const const_iterator found = lower_bound(key);
        return found != end() && found->first == key ? found : end();
    }
    [[nodiscard]] bool contains(Lookup key) const { return find(key) != end(); }
    /// Throws std::out_of_range if there is no such key.
    [[nodiscard]] const Value& at(Lookup key) const {
        const const_iterator found = find(key);
        if (found == end()) throw std::out_of_range{"FlatMap::at: there is no such key"};
        return found->second;
    }

    /// The value of the key. A new key gets the value `Value{}`.
    Value& operator[](Lookup key) {
        const const_iterator entry = emplace(key, Value{}).first;
        return entries_[static_cast<std::size_t>(entry - begin())].second;
    }
    /// Adds an entry unless the key is already there. Returns the key's entry, and true if it is new.
    std::pair<const_iterator, bool> emplace(Lookup key, Value value) {
        const const_iterator place = lower_bound(key);
        if (place != end() && place->first == key) return {place, false};
        return {entries_.emplace(place, Key(key), std::move(value)), true};
    }
    void erase(const_iterator first, const_iterator last) { entries_.erase(first, last); }
    void clear() noexcept { entries_.clear(); }
    void shrink_to_fit() { entries_.shrink_to_fit(); }

    friend bool operator==(const FlatMap&, const FlatMap&) = default;

private:
    std::vector<value_type> entries_;
};

}  // namespace hpo
