// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hpo::text {

/// A token's row in the model's embedding.
using TokenId = std::int32_t;

/// A hash that lets a map of strings be searched with a string_view.
struct TextHash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// Tokens and their ids, 0 to size - 1.
class Vocabulary {
public:
    Vocabulary() = default;
    /// The token at index i has id i. If a token is there twice, its last index counts, as in the reference implementation.
    explicit Vocabulary(std::vector<std::string> tokens) : tokens_{std::move(tokens)} {
        ids_.reserve(tokens_.size());
        for (std::size_t i = 0; i < tokens_.size(); ++i) ids_.insert_or_assign(tokens_[i], static_cast<TokenId>(i));
    }
    [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }
    [[nodiscard]] std::optional<TokenId> find(std::string_view token) const {
        const auto found = ids_.find(token);
        if (found == ids_.end()) return std::nullopt;
        return found->second;
    }
    [[nodiscard]] const std::string& token(TokenId id) const { return tokens_.at(static_cast<std::size_t>(id)); }
    [[nodiscard]] const std::vector<std::string>& tokens() const noexcept { return tokens_; }

private:
    std::vector<std::string> tokens_;
    TextMap<TokenId> ids_;
};

}  // namespace hpo::text
