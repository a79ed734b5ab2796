// SPDX-License-Identifier: MIT
#include "hpo/device/visible_cards.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace hpo::device {

std::optional<std::size_t> card_number(std::string_view device) {
    if (device == "cuda") return 0;
    if (!device.starts_with("cuda:")) return std::nullopt;
    std::size_t number = 0;
    const auto [end, status] = std::from_chars(device.data() + 5, device.data() + device.size(), number);
    return status == std::errc{} && end == device.data() + device.size() ? std::optional{number} : std::nullopt;
}

std::vector<std::string> card_entries(std::string_view list) {
    std::vector<std::string> entries;
    while (!list.empty()) {
        std::string_view entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(entry.size() + 1, list.size()));
        entry.remove_prefix(std::min(entry.find_first_not_of(' '), entry.size()));
        entry = entry.substr(0, entry.find_last_not_of(' ') + 1);
        entries.emplace_back(entry);
    }
    return entries;
}

}  // namespace hpo::device

namespace hpo::device::detail {

/// The one card that an entry names by the beginning of its uuid.
[[nodiscard]] std::optional<NvidiaDevice> card_by_uuid(const std::vector<NvidiaDevice>& all, const std::string& entry) {
    const auto is_meant = [&](const NvidiaDevice& card) { return card.uuid.starts_with(entry); };
    if (std::ranges::count_if(all, is_meant) != 1) return std::nullopt;
    return *std::ranges::find_if(all, is_meant);
}

[[nodiscard]] std::optional<NvidiaDevice> card_by_index(const std::vector<NvidiaDevice>& all, const std::string& entry) {
    std::size_t index = 0;  // CUDA reads the number at the beginning and ignores the rest
    const auto status = std::from_chars(entry.data(), entry.data() + entry.size(), index).ec;
    const auto card = std::ranges::find_if(all, [&](const NvidiaDevice& each) { return each.index == index; });
    return status == std::errc{} && card != all.end() ? std::optional{*card} : std::nullopt;
}

}  // namespace hpo::device::detail

namespace hpo::device {

std::vector<NvidiaDevice> visible_cards(std::vector<NvidiaDevice> all, const CardSelection& selection) {
    const bool indices_are_known = selection.by_pci_bus || all.size() < 2;
    if (!selection.list) return indices_are_known ? std::move(all) : std::vector<NvidiaDevice>(all.size());
    std::vector<NvidiaDevice> visible;
    std::vector<unsigned> taken;
    bool by_uuid = false;
    for (const std::string& entry : card_entries(*selection.list)) {
        if (visible.empty() && entry.starts_with("MIG-")) {
            NvidiaDevice instance;
            instance.uuid = entry;
            return {instance};
        }
        if (visible.empty()) by_uuid = entry.starts_with("GPU-");
        auto card = by_uuid ? detail::card_by_uuid(all, entry) : detail::card_by_index(all, entry);
        if (!card) break;
        if (std::ranges::find(taken, card->index) != taken.end()) return {};
        taken.push_back(card->index);
        visible.push_back(by_uuid || indices_are_known ? *std::move(card) : NvidiaDevice{});
    }
    return visible;
}

std::optional<NvidiaDevice> card_of(std::string_view device, std::vector<NvidiaDevice> all, const CardSelection& selection) {
    const auto number = card_number(device);
    auto visible = visible_cards(std::move(all), selection);
    if (!number || *number >= visible.size()) return std::nullopt;
    return std::move(visible[*number]);
}

}  // namespace hpo::device
