// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "card.hpp"
#include "memory.hpp"

namespace hpo::virtual_card {

/// Everything that a process knows of its virtual cards. Thread-safe.
class World {
public:
    /// There is one in a process. It is never destroyed: threads may use the card while the program ends.
    [[nodiscard]] static World& instance();

    [[nodiscard]] const Card& card() const { return card_; }
    /// Gives the cards another size, for this process. Not while others use them.
    void resize(std::int64_t bytes) {
        card_.memory_bytes = bytes;
        ledger_.resize(bytes);
    }
    [[nodiscard]] DeviceMemory& memory() { return memory_; }
    [[nodiscard]] Ledger& ledger() { return ledger_; }

    /// A card's context takes its memory when a process first uses the card. False if there is too little for it.
    [[nodiscard]] bool open_context(int card);
    [[nodiscard]] bool has_context(int card) const { return contexts_[static_cast<std::size_t>(card)]; }
    /// The card that this thread works with.
    [[nodiscard]] static int& current();

    /// A handle that nothing stands behind.
    [[nodiscard]] std::uintptr_t handle() { return handles_ += 16; }

    enum class Direction : std::uint8_t { host_to_host, to_device, to_host, on_device, any };
    /// Device memory has no contents. What is read from it is zeros; a single byte is 1, since programs ask whether all is well. Only a small
    /// piece that was copied to the card is read back as it was, as long as nothing else happened on the card. Processes that train one model
    /// agree so on what they are to exchange. False, and one line on standard error, for an address that is not where the direction says, and
    /// for a copy beyond an allocation's end.
    [[nodiscard]] bool copy(void* to, const void* from, std::size_t bytes, Direction direction);
    [[nodiscard]] bool fill(void* at, std::size_t bytes);

    /// Is called for each copy from the device to the host whose values are made up, with its bytes.
    using OnRead = void (*)(std::size_t);
    void on_read(OnRead listener) { on_read_ = listener; }

    [[nodiscard]] void* pin(std::size_t bytes);
    [[nodiscard]] bool unpin(void* at);
    [[nodiscard]] bool pinned(const void* at) const;

    /// A function was called that the virtual card does not model: its outputs were not written. Reported once.
    void note_unmodelled(const char* function);
    /// One such function that was called since the last time; null: none. The text stays.
    [[nodiscard]] const char* take_unmodelled();
    /// cuDNN plans a convolution that reads and writes so many bytes. The report has the largest.
    void note_convolution(std::int64_t bytes);
    void note_launch() {
        ++launches_;
        forget_written();
    }

    void begin_capture(std::uintptr_t stream);
    void end_capture(std::uintptr_t stream);
    /// The number of a stream's capture; 0: none.
    [[nodiscard]] std::uint64_t capture_of(std::uintptr_t stream) const;

private:
    World();
    static constexpr std::size_t most_written_bytes = std::size_t{64} << 10;
    /// Without `from`, what is there is not known.
    void remember_written(std::uintptr_t at, const void* from, std::size_t bytes);
    void pass_written_on(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);
    [[nodiscard]] bool read_written(std::uintptr_t at, void* to, std::size_t bytes) const;
    void forget_written();
    void report(const std::string& line);
    static void report_end();

    Card card_;
    Ledger ledger_;
    DeviceMemory memory_;
    std::array<std::atomic<bool>, most_cards> contexts_{};
    std::atomic<std::uintptr_t> handles_{0x1000};
    std::atomic<std::int64_t> launches_{0};
    std::int64_t largest_convolution_ = 0;
    std::atomic<OnRead> on_read_{nullptr};
    mutable std::mutex mutex_;
    std::set<std::string> unmodelled_;
    std::set<const char*> unmodelled_lately_;  ///< texts of unmodelled_
    std::map<std::uintptr_t, std::vector<std::byte>> written_;  ///< by the address on the card
    std::atomic<bool> any_written_{false};
    std::map<std::uintptr_t, std::size_t> pinned_;
    std::map<std::uintptr_t, std::uint64_t> captures_;  ///< by stream
    std::uint64_t last_capture_ = 0;
};

}  // namespace hpo::virtual_card
