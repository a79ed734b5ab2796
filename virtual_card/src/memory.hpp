// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hpo::virtual_card {

inline constexpr int most_cards = 16;
inline constexpr std::size_t page_bytes = std::size_t{2} << 20;

/// What one process holds of the cards, in bytes by card.
struct ProcessUse {
    int process = 0;
    std::array<std::int64_t, most_cards> bytes{};
};

/// Counts what processes take of the cards. With a file, all processes that name it share the cards; what a dead one held is free again.
/// Thread-safe, and safe between processes.
class Ledger {
public:
    /// `state`: the file; empty: this process is alone. `places`: the numbers that this process's cards have for all processes; empty: the
    /// same ones.
    Ledger(std::string state, std::int64_t card_bytes, std::vector<int> places = {});
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;
    ~Ledger();

    /// Takes memory of a card for this process. False if too little is free.
    [[nodiscard]] bool take(int card, std::int64_t bytes);
    void give_back(int card, std::int64_t bytes);
    [[nodiscard]] std::int64_t free(int card);
    /// From now on the cards have so much for this process.
    void resize(std::int64_t card_bytes) { card_bytes_ = card_bytes; }
    /// The processes that hold anything, this one among them. The cards have the numbers that they have for all processes.
    [[nodiscard]] std::vector<ProcessUse> uses();

private:
    struct Table;
    template <class Work>
    auto locked(const Work& work);

    [[nodiscard]] int place(int card) const { return places_.empty() ? card : places_[static_cast<std::size_t>(card)]; }

    std::int64_t card_bytes_;
    std::vector<int> places_;
    std::string path_;
    int file_ = -1;
    Table* table_ = nullptr;
    std::mutex mutex_;
};

/// Device memory of this process: addresses that a program can neither read nor write, and no contents. Addresses rise, and each allocation
/// begins at a multiple of 2 MiB, as on a card.
///
/// Two kinds: allocated() memory, and reserved addresses into which pages are mapped.
class DeviceMemory {
public:
    explicit DeviceMemory(Ledger& ledger) : ledger_{ledger} {}

    /// 0: the card has too little.
    [[nodiscard]] std::uintptr_t allocate(int card, std::size_t bytes);
    /// False if nothing was allocated there.
    [[nodiscard]] bool release(std::uintptr_t address);

    [[nodiscard]] std::uintptr_t reserve(std::size_t bytes);
    [[nodiscard]] bool unreserve(std::uintptr_t address, std::size_t bytes);
    /// Physical pages, not yet at an address. 0: the card has too little.
    [[nodiscard]] std::uint64_t create_pages(int card, std::size_t bytes);
    [[nodiscard]] bool release_pages(std::uint64_t pages);
    [[nodiscard]] bool map_pages(std::uintptr_t address, std::size_t bytes, std::uint64_t pages);
    [[nodiscard]] bool unmap_pages(std::uintptr_t address, std::size_t bytes);

    /// The card of an address; nullopt if it is no device memory.
    [[nodiscard]] std::optional<int> card_of(std::uintptr_t address) const;
    /// True if all of these bytes are device memory.
    [[nodiscard]] bool holds(std::uintptr_t address, std::size_t bytes) const;
    [[nodiscard]] std::int64_t peak(int card) const;

private:
    struct Range {
        std::size_t bytes = 0;
        int card = 0;
        bool mapped = false;  ///< by map_pages
    };
    struct Pages {
        std::size_t bytes = 0;
        int card = 0;
        int users = 1;  ///< the handle and each mapping
    };
    [[nodiscard]] bool count(int card, std::size_t bytes);
    void uncount(int card, std::size_t bytes);
    [[nodiscard]] std::uintptr_t next_address(std::size_t bytes);
    void drop_pages(std::uint64_t pages);

    Ledger& ledger_;
    mutable std::mutex mutex_;
    std::uintptr_t next_ = 0;
    std::map<std::uintptr_t, Range> ranges_;          ///< what is device memory
    std::map<std::uintptr_t, std::size_t> reserved_;  ///< addresses for pages
    std::map<std::uint64_t, Pages> pages_;
    std::map<std::uintptr_t, std::uint64_t> pages_at_;
    std::uint64_t last_pages_ = 0;
    std::array<std::int64_t, most_cards> held_{};
    std::array<std::int64_t, most_cards> peak_{};
};

}  // namespace hpo::virtual_card
