// SPDX-License-Identifier: MIT
#include "hpo/device/visible_cards.hpp"

#include "support/catch.hpp"

using namespace hpo::device;

namespace {

std::vector<NvidiaDevice> four_cards() {
    std::vector<NvidiaDevice> cards(4);
    const char* const uuids[] = {"GPU-0a000000-1", "GPU-0a110000-2", "GPU-0b000000-3", "GPU-0c000000-4"};
    for (unsigned i = 0; i < cards.size(); ++i) {
        cards[i].index = i;
        cards[i].uuid = uuids[i];
        cards[i].total_bytes = 1000 * (i + 1);
    }
    return cards;
}

/// The driver's indices of what is visible, as text; "?" for what is not known.
std::string shown(const CardSelection& selection) {
    std::string text;
    for (const NvidiaDevice& card : visible_cards(four_cards(), selection)) text += card.is_known() ? std::to_string(card.index) : "?";
    return text;
}
std::string shown(const char* list) { return shown(CardSelection{.list = list}); }

}  // namespace

TEST_CASE("without a list all cards are visible, with an empty one none") {
    CHECK(shown(CardSelection{}) == "0123");
    CHECK(shown("").empty());
}

TEST_CASE("cards count in the order of the list, up to the first entry that names none") {
    CHECK(shown("2,1") == "21");
    CHECK(shown(" 3 , 0") == "30");
    CHECK(shown("0,2,-1,1") == "02");
    CHECK(shown("0,4,1") == "0");
    CHECK(shown("0,,1") == "0");
    CHECK(shown("-1").empty());
    CHECK(shown("NoDevFiles").empty());
    CHECK(shown("1,1").empty());
}

TEST_CASE("a card may be named by as much of its uuid as no other has") {
    CHECK(shown("GPU-0c000000-4,GPU-0b") == "32");
    CHECK(shown("GPU-0c,GPU-0a,GPU-0b") == "3");  // two begin so
    CHECK(shown("GPU-0a1,GPU-0a11").empty());     // the same twice
    CHECK(shown("GPU-0c,1") == "3");
    CHECK(shown("1,GPU-0c") == "1");
}

TEST_CASE("a MIG instance is there, and nothing is known of it") {
    for (const char* list : {"MIG-0123", "MIG-GPU-0a000000-1/2/0,MIG-4567"}) {
        const auto cards = visible_cards(four_cards(), {.list = list});
        REQUIRE(cards.size() == 1);
        CHECK_FALSE(cards[0].is_known());
        CHECK(std::string{list}.starts_with(cards[0].uuid));
    }
    CHECK(shown("0,MIG-0123") == "0");
}

TEST_CASE("in another order than the driver's only uuids say which of several cards is meant") {
    CHECK(shown({.list = {}, .by_pci_bus = false}) == "????");
    CHECK(shown({.list = "1,0", .by_pci_bus = false}) == "??");
    CHECK(shown({.list = "1,1", .by_pci_bus = false}).empty());
    CHECK(shown({.list = "GPU-0b,GPU-0c", .by_pci_bus = false}) == "23");
    const auto one = visible_cards({four_cards()[0]}, {.list = "0", .by_pci_bus = false});
    REQUIRE(one.size() == 1);
    CHECK(one[0].is_known());
}

TEST_CASE("a device's name is the card at its number") {
    CHECK(card_of("cuda:1", four_cards(), {.list = "3,2"})->index == 2);
    CHECK(card_of("cuda", four_cards(), {.list = "3,2"})->index == 3);
    CHECK_FALSE(card_of("cuda:2", four_cards(), {.list = "3,2"}));
    for (const char* other : {"cpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999999999999999", "CUDA"})
        CHECK_FALSE(card_number(other));
}
