// SPDX-License-Identifier: MIT
#include "tune/card/asked_card.hpp"

#include <algorithm>
#include <string_view>

#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "tune/card/known_cards.hpp"

namespace hpo::tune {

namespace {

const KnownCard* known(const std::string& name) {
    const auto found = std::ranges::find(known_cards, name, &KnownCard::name);
    return found == known_cards.end() ? nullptr : &*found;
}

bool begins_as_size(const std::string& text) {
    return !text.empty() && std::string_view{"-+.0123456789"}.find(text[0]) != std::string_view::npos;
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
    const KnownCard* const named = known(words.card.empty() ? std::string{usual_card} : words.card);
    if (named == nullptr && !begins_as_size(words.card)) {
        std::vector<std::string> names;
        for (const KnownCard& each : known_cards) names.emplace_back(each.name);
        throw unknown_name(words.place, "card", words.card, names);
    }
    const KnownCard* const like = named != nullptr ? named : known(std::string{usual_card});
    AskedCard card{.name = named != nullptr ? std::string{named->name} : "card of " + words.card,
                   .capability = like->capability,
                   .multiprocessors = like->multiprocessors,
                   .bytes = named != nullptr ? card_bytes(*named) : require_bytes(words.place, words.card)};
    constexpr std::int64_t most_bytes = std::int64_t{1} << 44;
    if (card.bytes > most_bytes) throw bad_value(words.place, words.card, "at most " + format_bytes(most_bytes));
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
