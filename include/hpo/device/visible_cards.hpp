// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/device/nvidia_device.hpp"

namespace hpo::device {

/// What of a process's environment decides which cards CUDA shows it.
struct CardSelection {
    std::optional<std::string> list;  ///< CUDA_VISIBLE_DEVICES; nothing: all cards
    bool by_pci_bus = true;           ///< indices count as CUDA_DEVICE_ORDER=PCI_BUS_ID says, and so as the driver's
};

/// N of "cuda:N", 0 of "cuda"; nothing for what names no CUDA device.
[[nodiscard]] std::optional<std::size_t> card_number(std::string_view device);

/// The entries of a CUDA_VISIBLE_DEVICES, without the spaces before and after them.
[[nodiscard]] std::vector<std::string> card_entries(std::string_view list);

/// The cards that CUDA shows a process: the one at N is its "cuda:N". `all` are the driver's, in its order.
///
/// Of some only that they are there can be said, and they are not known (NvidiaDevice::is_known): a MIG instance, which has its entry as
/// uuid; and what indices mean in another order than that of the PCI bus, where there are several cards.
///
/// As CUDA reads the list: an entry that names no card ends it, the first entry says whether all are indices or uuids, and a card that is
/// named twice makes it empty. Of MIG instances CUDA shows the first.
[[nodiscard]] std::vector<NvidiaDevice> visible_cards(std::vector<NvidiaDevice> all, const CardSelection& selection);

/// The card that a process calls `device`; nothing where CUDA shows it none.
[[nodiscard]] std::optional<NvidiaDevice> card_of(std::string_view device, std::vector<NvidiaDevice> all, const CardSelection& selection);

}  // namespace hpo::device

#ifndef HPO_COMPILED
#include "hpo/device/impl/visible_cards_inl.hpp"
#endif
