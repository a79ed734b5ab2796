// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::allocator {

/// A value of a pickle in 8 bytes: its kind, and the number itself or where its content is.
struct PickleValue {
    enum class Kind : std::uint8_t { none, boolean, integer, large_integer, real, text, list, dictionary, mark };

    std::uint64_t bits = 0;

    [[nodiscard]] Kind kind() const { return static_cast<Kind>(bits & 0xFU); }
    [[nodiscard]] std::uint64_t payload() const { return bits >> 4U; }
    friend bool operator==(const PickleValue&, const PickleValue&) = default;
};

/// The plain data of a pickle: numbers, texts, lists and dictionaries. A tuple and a set are lists. Lists may contain themselves, so a
/// reader follows a path of its own, and never all of it.
///
/// Thread safety: reading is safe.
class PickledData {
public:
    [[nodiscard]] PickleValue root() const { return root_; }
    /// Each of these returns nullopt, or nothing, for a value of another kind.
    [[nodiscard]] std::optional<std::int64_t> integer(PickleValue value) const;
    /// An integer from 0 to 2^64 - 1, such as an address.
    [[nodiscard]] std::optional<std::uint64_t> natural(PickleValue value) const;
    [[nodiscard]] std::optional<double> real(PickleValue value) const;  ///< also of an integer
    [[nodiscard]] std::optional<bool> boolean(PickleValue value) const;
    [[nodiscard]] std::optional<std::string_view> text(PickleValue value) const;
    [[nodiscard]] std::span<const PickleValue> list(PickleValue value) const;
    /// Keys and values in turn.
    [[nodiscard]] std::span<const PickleValue> dictionary(PickleValue value) const;
    /// What a dictionary has under a text. O(its entries).
    [[nodiscard]] std::optional<PickleValue> find(PickleValue dictionary, std::string_view key) const;
    /// The size of the pickle.
    [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
    /// The number of lists and dictionaries. A list's or a dictionary's payload is below it.
    [[nodiscard]] std::size_t containers() const { return containers_.size(); }

private:
    friend class PickleReader;
    struct LargeInteger {
        std::uint64_t low = 0;  ///< two's complement
        bool negative = false;
        bool fits = true;  ///< false: it has more than 64 bits
    };

    std::string bytes_;
    std::vector<std::vector<PickleValue>> containers_;
    std::vector<LargeInteger> integers_;
    std::vector<double> reals_;
    PickleValue root_;
};

}  // namespace hpo::allocator
