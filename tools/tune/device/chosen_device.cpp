// SPDX-License-Identifier: MIT
#include "tune/device/chosen_device.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/processor_name.hpp"
#include "hpo/device/visible_cards.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {

std::string usable_device(const std::string& place, const std::string& text, const TrainerInfo& info) {
    // Trainers that were built before uses_cuda was known say it by their LibTorch's version alone.
    // What a program uses is not known, so it may use a card.
    const bool uses_cuda = info.uses_cuda || info.open_ended || info.libtorch_version.find("+cu") != std::string::npos;
    if (is_cpu(text)) return text;
    const auto number = device::card_number(text);
    if (text != "auto" && !number) throw bad_value(place, "'" + text + "'", "auto, cpu, cuda or cuda:N");
    const auto cards = visible_cards();
    if (number && cards.empty()) throw Error{Errc::no_device, place + ": " + missing_cards() + "; known: cpu"};
    if (number && !uses_cuda) {
        throw Error{Errc::no_device,
                    place + ": trainer " + info.name +
                        (info.libtorch_version.empty() ? " does not use a GPU; known: cpu"
                                                       : " was not built for CUDA (LibTorch " + info.libtorch_version + "); known: cpu")};
    }
    if (!number && (cards.empty() || !uses_cuda)) return "cpu";
    if (text.starts_with("cuda:") && *number >= cards.size()) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < cards.size(); ++i) names.push_back("cuda:" + std::to_string(i));
        throw Error{Errc::no_device, place + ": no device '" + text + "'; known: cpu, " + join_names(names)};
    }
    const auto best =
        std::max_element(cards.begin(), cards.end(), [](const auto& a, const auto& b) { return a.free_bytes < b.free_bytes; });
    const auto chosen = text.starts_with("cuda:") ? *number : static_cast<std::size_t>(best - cards.begin());
    if (cards[chosen].uuid.empty() && !cards[chosen].is_known()) {
        throw Error{Errc::no_device, place + ": there are several cards, and with this CUDA_DEVICE_ORDER it is not known which one '" +
                                         text + "' is; expected PCI_BUS_ID, or uuids in CUDA_VISIBLE_DEVICES"};
    }
    return "cuda:" + std::to_string(chosen);
}

std::string chosen_device(const Settings& settings, const TrainerInfo& info) {
    const std::string& name = settings.devices().front().name;
    if (is_cpu(name)) return "cpu";
    return usable_device(settings.place("device"), name == "cuda:*" ? "cuda" : name, info);
}

std::string estimated_device(const Settings& settings, const TrainerInfo& info) {
    const std::string& name = settings.devices().front().name;
    return device::card_number(name) ? name : chosen_device(settings, info);
}

std::string device_name(const std::string& device) {
    if (is_cpu(device)) return device::processor_name();
    const auto card = card_of(device);
    return card ? card->name : std::string{};
}

}  // namespace hpo::tune
