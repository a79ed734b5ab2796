// SPDX-License-Identifier: MIT
#include "text/pieces/sentence_piece.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/utf8.hpp"

namespace hpo::text {

PrefixTree::PrefixTree(std::vector<std::pair<std::string, std::int32_t>> keys) {
    std::sort(keys.begin(), keys.end());
    struct Range {  // the keys below a node
        std::size_t begin;
        std::size_t end;
        std::size_t depth;  // bytes that they share
    };
    std::deque<Range> open{{0, keys.size(), 0}};
    nodes_.push_back({});
    bytes_.push_back('\0');
    for (std::size_t node = 0; !open.empty(); ++node) {
        auto [begin, end, depth] = open.front();
        open.pop_front();
        if (begin < end && keys[begin].first.size() == depth) nodes_[node].value = keys[begin++].second;
        nodes_[node].children = static_cast<std::uint32_t>(nodes_.size());
        while (begin < end) {
            const char byte = keys[begin].first[depth];
            std::size_t next = begin;
            while (next < end && keys[next].first[depth] == byte) ++next;
            open.push_back({begin, next, depth + 1});
            nodes_.push_back({});
            bytes_.push_back(byte);
            begin = next;
        }
        nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
    }
}

SentencePiece::SentencePiece(SentencePieceModel model, const std::string& place) : model_{std::move(model)} {
    using Kind = SentencePieceModel::Kind;
    std::vector<std::pair<std::string, TokenId>> own;
    std::vector<std::pair<std::string, TokenId>> user_defined;
    std::vector<std::string> tokens;
    float lowest = std::numeric_limits<float>::max();
    for (const auto& piece : model_.pieces) {
        const auto id = static_cast<TokenId>(tokens.size());
        tokens.push_back(piece.text);
        if (piece.kind == Kind::normal) lowest = std::min(lowest, piece.score);
        if (piece.kind == Kind::normal || piece.kind == Kind::user_defined) own.emplace_back(piece.text, id);
        if (piece.kind == Kind::user_defined) user_defined.emplace_back(piece.text, id);
    }
    constexpr float penalty = 10;
    unknown_score_ = lowest - penalty;
    vocabulary_ = Vocabulary{std::move(tokens)};
    pieces_ = PrefixTree{std::move(own)};
    user_defined_ = PrefixTree{std::move(user_defined)};
    if (model_.byte_fallback) find_bytes(place);
}

void SentencePiece::append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const {
    const std::string input = normalized(text);
    std::vector<Cut> best(input.size() + 1);  // for each byte, the best way to cut the text before it
    std::size_t settled = 0;                  // the text before it has its ids
    std::size_t reach = 0;                    // no piece that begins earlier ends after it
    bool after_unknown = false;
    std::vector<std::size_t> ends;
    const auto settle = [&](std::size_t end) {
        ends.clear();
        for (std::size_t at = end; at > settled; at = best[at].begin) ends.push_back(at);
        std::reverse(ends.begin(), ends.end());
        for (const std::size_t at : ends) {
            const Cut& cut = best[at];
            append_piece(cut.id, std::string_view{input}.substr(cut.begin, at - cut.begin), after_unknown, ids);
            after_unknown = is_unknown(cut.id);
        }
        settled = end;
    };
    for (std::size_t at = 0; at < input.size();) {
        if (at == reach) {  // every way to cut the text has a cut here
            settle(at);
            if (ids.size() >= most) return;
        }
        const std::size_t character = std::min(character_bytes(input[at]), input.size() - at);
        const float before = best[at].score;
        bool known = false;
        const auto offer = [&](std::size_t length, auto score, TokenId id) {
            Cut& cut = best[at + length];
            const auto sum = score + before;
            if (cut.id < 0 || sum > cut.score) cut = {static_cast<float>(sum), id, at};
            reach = std::max(reach, at + length);
            known = known || length == character;
        };
        pieces_.each_prefix(std::string_view{input}.substr(at), [&](std::size_t length, TokenId id) {
            const auto& piece = model_.pieces[static_cast<std::size_t>(id)];
            const bool always = piece.kind == SentencePieceModel::Kind::user_defined;
            offer(length, always ? always_score : double{piece.score}, id);
        });
        if (!known) offer(character, unknown_score_, static_cast<TokenId>(model_.unknown));
        at += character;
    }
    settle(input.size());
}

std::string SentencePiece::normalized(std::string_view text) const {
    const std::string_view space = model_.spaces_are_visible ? "\u2581" : " ";
    std::string result;
    Rewritten next{};
    if (model_.trims_spaces) {
        while (!text.empty() && (next = rewritten(text)).replacement == " ") text.remove_prefix(next.bytes);
    }
    if (text.empty()) return result;
    if (model_.space_in_front && !model_.spaces_end_words) result += space;
    bool after_space = model_.trims_spaces;
    for (; !text.empty(); text.remove_prefix(next.bytes)) {
        next = rewritten(text);
        std::string_view part = next.replacement;
        while (after_space && part.starts_with(' ')) part.remove_prefix(1);
        for (const char byte : part) {
            if (byte == ' ') {
                result += space;
            } else {
                result += byte;
            }
        }
        if (!part.empty()) after_space = model_.trims_spaces && part.ends_with(' ');
    }
    while (model_.trims_spaces && result.ends_with(space)) result.erase(result.size() - space.size());
    if (model_.space_in_front && model_.spaces_end_words) result += space;
    return result;
}

void SentencePiece::append_piece(TokenId id, std::string_view text, bool after_unknown, std::vector<TokenId>& ids) const {
    if (!is_unknown(id)) {
        ids.push_back(id);
    } else if (model_.byte_fallback) {
        for (const char byte : text) ids.push_back(bytes_[static_cast<unsigned char>(byte)]);
    } else if (!after_unknown) {
        ids.push_back(id);
    }
}

SentencePiece::Rewritten SentencePiece::rewritten(std::string_view text) const {
    std::size_t own = 0;
    user_defined_.each_prefix(text, [&](std::size_t length, TokenId) { own = length; });
    if (own > 0) return {own, text.substr(0, own)};
    if (const auto rule = model_.characters.find(text)) return {rule->bytes, rule->replacement};
    const std::size_t length = utf8_length(text, 0);
    return length == 0 ? Rewritten{1, "\uFFFD"} : Rewritten{length, text.substr(0, length)};
}

void SentencePiece::find_bytes(const std::string& place) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
        const std::string name = std::string{"<0x"} + digits[byte / 16] + digits[byte % 16] + ">";
        const auto id = vocabulary_.find(name);
        if (!id) throw Error{Errc::bad_value, place + ": lacks the piece '" + name + "', which byte_fallback needs"};
        bytes_[byte] = *id;
    }
}

}  // namespace hpo::text
