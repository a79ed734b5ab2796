// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/device/nvidia_device.hpp"

namespace hpo::device {

/// The parts of a process's environment that decide which cards CUDA shows it.
struct CardSelection {
    std::optional<std::string> list;  ///< CUDA_VISIBLE_DEVICES; nullopt: all cards
    bool by_pci_bus = true;           ///< true for CUDA_DEVICE_ORDER=PCI_BUS_ID: indices are those of the driver
};

/// N for "cuda:N", 0 for "cuda". Returns nullopt if the text names no CUDA device.
[[nodiscard]] std::optional<std::size_t> card_number(std::string_view device);

/// The entries of CUDA_VISIBLE_DEVICES, without the spaces around them.
[[nodiscard]] std::vector<std::string> card_entries(std::string_view list);

/// The cards that CUDA shows a process. The card at index N is its "cuda:N". `all` are the cards of the driver, in its order.
///
/// Some cards are there but not known (NvidiaDevice::is_known). A MIG instance is not known, and has its entry as uuid. If there are
/// several cards and their order is not that of the PCI bus, cards that are named by index are not known.
///
/// It reads the list as CUDA does. The first entry says whether all are indices or uuids. An entry that names no card ends the list. A card
/// that is named twice makes the list empty. Of several MIG instances, CUDA shows only the first.
[[nodiscard]] std::vector<NvidiaDevice> visible_cards(std::vector<NvidiaDevice> all, const CardSelection& selection);

/// The card that a process calls `device`. Returns nullopt if CUDA shows it no such card.
[[nodiscard]] std::optional<NvidiaDevice> card_of(std::string_view device, std::vector<NvidiaDevice> all, const CardSelection& selection);

}  // namespace hpo::device
