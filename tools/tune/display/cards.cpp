// SPDX-License-Identifier: MIT
#include "tune/display/cards.hpp"

#include <utility>

#include "hpo/device/nvml.hpp"
#include "hpo/device/visible_cards.hpp"
#include "hpo/worker/environment.hpp"
#include "support/text.hpp"

namespace hpo::tune {
namespace {

std::vector<device::NvidiaDevice> all_cards() {
    const auto nvml = device::Nvml::load();
    return nvml ? nvml->devices() : std::vector<device::NvidiaDevice>{};
}

device::CardSelection selection() { return worker::card_selection(worker::inherited_environment()); }

}  // namespace

std::vector<device::NvidiaDevice> visible_cards() { return device::visible_cards(all_cards(), selection()); }

std::optional<device::NvidiaDevice> card_of(const std::string& device) { return device::card_of(device, all_cards(), selection()); }

std::string missing_cards() {
    const auto cards = all_cards();
    const auto list = selection().list;
    if (cards.empty() || !list) return "no NVIDIA device answers";
    const auto shown = device::visible_cards(cards, selection()).size();
    return "CUDA_VISIBLE_DEVICES=" + tools::one_line(*list, 200) + " shows " + (shown == 0 ? "none" : std::to_string(shown)) + " of " +
           std::to_string(cards.size()) + (cards.size() == 1 ? " card" : " cards");
}

}  // namespace hpo::tune
