// SPDX-License-Identifier: MIT
//
// What happens when the virtual card is loaded into a process.
#include <cstdint>
#include <cstdio>

#include "card.hpp"
#include "exported.hpp"
#include "world.hpp"

namespace hpo::virtual_card {

namespace {

/// The first line of each program on a virtual card. Nobody may take what it prints for a result.
__attribute__((constructor)) void begin() {
    const Wanted& now = wanted();
    if (now.card.count == 0 || now.quiet) return;
    const auto mebibytes = [](std::int64_t bytes) { return static_cast<long long>(bytes >> 20); };
    std::fprintf(stderr, "hpo virtual card: %d x %s, %lld MiB, %lld of them for the context: no GPU is used, and no value is computed\n",
                 now.card.count, now.card.name.c_str(), mebibytes(now.card.memory_bytes), mebibytes(now.card.context_bytes));
}

}  // namespace

}  // namespace hpo::virtual_card

extern "C" {

/// A stub calls this. The name is that of a function that is not modelled.
__attribute__((visibility("hidden"))) void hpo_virtual_card_unmodelled(const char* function) {
    hpo::virtual_card::World::instance().note_unmodelled(function);
}

__attribute__((visibility("hidden"))) std::uintptr_t hpo_virtual_card_handle() { return hpo::virtual_card::World::instance().handle(); }

/// For tests: gives the cards another size.
EXPORTED void hpo_virtual_card_resize(long long bytes) { hpo::virtual_card::World::instance().resize(bytes); }

/// For those who want to know by whom the card is read.
EXPORTED void hpo_virtual_card_on_read(hpo::virtual_card::World::OnRead listener) { hpo::virtual_card::World::instance().on_read(listener); }

/// A function that was called since the last time, and that is not modelled; null: none.
EXPORTED const char* hpo_virtual_card_take_unmodelled() { return hpo::virtual_card::World::instance().take_unmodelled(); }

/// The most that this process held of a card, without its context.
EXPORTED long long hpo_virtual_card_peak(int card) { return hpo::virtual_card::World::instance().memory().peak(card); }

/// What NVML's part of the virtual card asks: how much a process holds of a card; -1: there is no such row.
EXPORTED long long hpo_virtual_card_use(int row, int card, int* process) {
    const auto uses = hpo::virtual_card::World::instance().ledger().uses();
    if (row < 0 || row >= static_cast<int>(uses.size())) return -1;
    *process = uses[static_cast<std::size_t>(row)].process;
    return uses[static_cast<std::size_t>(row)].bytes[static_cast<std::size_t>(card)];
}
}
