// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/compute_capability.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/supervisor/pool_config.hpp"
#include "tune/card/asked_card.hpp"

namespace hpo::tune {

/// The folder of the virtual card beside this program. Throws Error if it is not there.
[[nodiscard]] std::filesystem::path virtual_card_folder();

/// This program runs on a virtual card.
[[nodiscard]] bool is_on_virtual_card();

/// The processes that this program starts do not say once more that the card is virtual.
void quieten_card_of_children();

/// What the CUDA context takes of the virtual card that this program runs on; nullopt: it runs on none.
[[nodiscard]] std::optional<std::int64_t> virtual_context_bytes();

/// Begins this program anew, with these words, on a virtual card. Throws Error if that is not possible.
[[noreturn]] void begin_on_card(const AskedCard& card, const std::vector<std::string>& words);

/// What is known of the card for which a virtual one is to predict.
struct PredictedCard {
    std::string name;  ///< as the driver says it; empty: not known
    std::optional<allocator::ComputeCapability> capability{};
};

/// What others saw the CUDA context take of a card of that name, as for a card that a person asks for; nullopt: nobody told.
[[nodiscard]] std::optional<std::int64_t> told_context_bytes(const PredictedCard& like);

/// A virtual card like another, but without a limit, for workers that predict. Throws Error{no_device} if no virtual card was built.
[[nodiscard]] worker::PoolConfig::VirtualCard card_for_predictions(const PredictedCard& like);

/// The same for a worker whose trials are other programs. It starts record_program() for them.
[[nodiscard]] worker::PoolConfig::VirtualCard card_for_programs(const PredictedCard& like);

/// The card that HPO_VIRTUAL_CARD names.
[[nodiscard]] AskedCard card_of_figures(const std::string& figures);

}  // namespace hpo::tune
