// SPDX-License-Identifier: MIT
#include "tune/card/asked_card.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <string_view>

#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "tune/card/known_cards.hpp"

namespace hpo::tune {

namespace {

/// What people write of a card's name: "NVIDIA GeForce RTX 4090" and "rtx4090" are "4090".
std::string short_name(std::string_view name) {
    std::string text;
    for (const unsigned char c : name) {
        if (std::isalnum(c) != 0) text += static_cast<char>(std::tolower(c));
    }
    constexpr std::array<std::string_view, 6> makers{"nvidia", "geforce", "tesla", "quadro", "rtx", "gtx"};
    for (const std::string_view maker : makers) {
        if (text.starts_with(maker) && text.size() > maker.size()) text.erase(0, maker.size());
    }
    return text;
}

/// "A100" of "A100-80GB". A name without a size of memory is whole.
std::string_view without_size(std::string_view name) {
    const auto dash = name.rfind('-');
    return dash != std::string_view::npos && name.ends_with("GB") ? name.substr(0, dash) : name;
}

/// The cards that a text may name: the one of that name, or those that differ from it in their memory alone.
std::vector<const KnownCard*> named_by(const std::string& text) {
    const std::string wanted = short_name(text);
    std::vector<const KnownCard*> of_other_size;
    if (wanted.empty()) return of_other_size;
    for (const KnownCard& each : known_cards) {
        if (short_name(each.name) == wanted) return {&each};
        if (short_name(without_size(each.name)) == wanted) of_other_size.push_back(&each);
    }
    return of_other_size;
}

/// Of cards that differ in their memory alone, the one with the least: what fits there fits on the others. Null if there is none.
const KnownCard* least(const std::vector<const KnownCard*>& found) {
    return found.empty() ? nullptr : *std::ranges::min_element(found, {}, &KnownCard::gibibytes);
}

/// True for a size that a card may have. "5080" is a card that people have, and no number of bytes.
bool is_size_of_card(const std::string& text) {
    constexpr std::int64_t least_bytes = 1 << 20;
    const auto bytes = parse_bytes(text);
    return bytes && *bytes >= least_bytes;
}

}  // namespace

std::string AskedCard::text(const std::vector<std::string>& files) const {
    std::string all = "name=" + name + ";capability=" + std::to_string(capability) + ";multiprocessors=" + std::to_string(multiprocessors) +
                      ";memory=" + std::to_string(bytes) + ";context=" + std::to_string(context_bytes) + ";count=" + std::to_string(count);
    for (const std::string& each : files) {
        if (each.find(';') != std::string::npos) throw Error{Errc::usage, "TMPDIR: " + each + ": expected a path without ';'"};
        all += ";" + each;
    }
    return all;
}

AskedCard asked_card(const CardWords& words) {
    const std::vector<const KnownCard*> found =
        words.is_size ? std::vector<const KnownCard*>{} : named_by(words.card.empty() ? std::string{usual_card} : words.card);
    const KnownCard* const named = least(found);
    if (named == nullptr && !words.is_size && !is_size_of_card(words.card)) {
        std::vector<std::string> names;
        for (const KnownCard& each : known_cards) names.emplace_back(each.name);
        const std::string_view near = nearest_name(words.card, names);
        throw Error{Errc::unknown_name, words.place + ": unknown card '" + shown(words.card) + "'" +
                                            (near.empty() ? "" : "; did you mean '" + std::string{near} + "'?") +
                                            "; known: " + join_names(names) + ", and any size, such as 24GiB"};
    }
    const KnownCard* const like = named != nullptr ? named : least(named_by(std::string{usual_card}));
    std::vector<std::string> larger;
    for (const KnownCard* const each : found) {
        if (each != named) larger.emplace_back(each->name);
    }
    if (!larger.empty())
        std::cerr << "hpo-tune: note: " << words.place << " " << words.card << ": taken as " << named->name
                  << ", which has the least memory; the other is " << join_names(larger) << "\n";
    AskedCard card{.name = named != nullptr ? std::string{named->name} : "card of " + words.card,
                   .capability = like->capability,
                   .multiprocessors = like->multiprocessors,
                   .bytes = named != nullptr ? card_bytes(*named) : require_bytes(words.place, words.card)};
    constexpr std::int64_t most_bytes = std::int64_t{1} << 44;
    if (card.bytes > most_bytes) throw bad_value(words.place, words.card, "at most " + format_bytes(most_bytes));
    if (!words.part.empty()) {
        const std::int64_t part = require_bytes("--device-memory", words.part);
        if (named == nullptr)
            throw Error{Errc::usage, "--card and --device-memory: both are sizes; expected one of them, or a card's name"};
        if (part > card.bytes) throw bad_value("--device-memory", words.part, "at most the card's " + format_bytes(card.bytes));
        card.bytes = part;
    }
    if (!words.context.empty()) {
        card.context_bytes = require_bytes("--context", words.context);
        card.context_from = "which --context gives";
    } else if (named != nullptr && named->context_mebibytes != 0) {
        card.context_bytes = std::int64_t{named->context_mebibytes} << 20;
        card.context_from = "as others saw it on this card";
    } else {
        card.context_bytes = allocator::usual_cuda_overheads({}).context_bytes;
        card.context_from = "a guess; --context gives another";
    }
    if (card.context_bytes >= card.bytes)
        throw bad_value(words.place, format_bytes(card.bytes), "more than the CUDA context takes, " + format_bytes(card.context_bytes));
    return card;
}

}  // namespace hpo::tune
