// SPDX-License-Identifier: MIT
#include "tune/card/asked_card.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "tune/card/known_cards.hpp"

namespace hpo::tune {

namespace {

/// What a text says of a card.
struct CardName {
    std::string model;               ///< "4090" of "NVIDIA GeForce RTX 4090"
    std::optional<int> gigabytes{};  ///< 80 of "A100-SXM4-80GB"
};

bool is_number(std::string_view word) { return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos; }

/// The lower-case words of a text, which blanks, dashes and underscores separate.
std::vector<std::string> words_in(std::string_view text) {
    std::vector<std::string> words;
    bool goes_on = false;
    for (const unsigned char c : text) {
        if (std::isalnum(c) != 0) {
            if (!goes_on) words.emplace_back();
            words.back() += static_cast<char>(std::tolower(c));
        }
        goes_on = std::isalnum(c) != 0;
    }
    return words;
}

/// Reads a name as people and drivers write it. Words that do not tell one card from another are left out: of the maker, of the socket and
/// of the kind of memory.
CardName card_name(std::string_view text) {
    constexpr std::array<std::string_view, 6> makers{"nvidia", "geforce", "tesla", "quadro", "rtx", "gtx"};
    constexpr std::array<std::string_view, 18> idle{"sxm",  "sxm2",     "sxm3",      "sxm4",        "sxm5",   "pcie",
                                                    "hbm2", "hbm2e",    "hbm3",      "hbm3e",       "gddr6",  "generation",
                                                    "gpu",  "graphics", "blackwell", "workstation", "server", "edition"};
    CardName name;
    const std::vector<std::string> words = words_in(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const auto unit = word.find_first_not_of("0123456789");
        const bool has_unit = unit != std::string_view::npos && unit > 0 &&
                              (word.substr(unit) == "gb" || word.substr(unit) == "gib" || word.substr(unit) == "g");
        const bool is_followed_by_unit = is_number(word) && i + 1 < words.size() && (words[i + 1] == "gb" || words[i + 1] == "gib");
        if ((has_unit && unit < 4) || (is_followed_by_unit && word.size() < 4)) {
            name.gigabytes = std::stoi(std::string{word});
            if (is_followed_by_unit) ++i;
        } else if (std::ranges::find(idle, word) == idle.end()) {
            name.model += word;
        }
    }
    for (const std::string_view maker : makers) {
        if (name.model.starts_with(maker) && name.model.size() > maker.size()) name.model.erase(0, maker.size());
    }
    return name;
}

/// The cards that a text may name: the one of that name and memory, or those that differ from it in their memory alone.
std::vector<const KnownCard*> named_by(const std::string& text) {
    const CardName wanted = card_name(text);
    std::vector<const KnownCard*> found;
    if (wanted.model.empty()) return found;
    for (const KnownCard& each : known_cards) {
        const CardName card = card_name(each.name);
        if (card.model != wanted.model) continue;
        // A driver keeps up to a tenth of the memory that the maker names.
        const bool has_as_much = !wanted.gigabytes || (each.gibibytes <= *wanted.gigabytes && each.gibibytes > 0.9 * *wanted.gigabytes);
        if (has_as_much) found.push_back(&each);
    }
    return found;
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
