// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/snapshot/pickled_data.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

/// Reads a pickle of the protocols 2 to 5. An instruction that would make an object, call a function or import a module is an error: none
/// is ever carried out.
///
/// Memory: at most 64 MiB and 6 bytes for each byte of the pickle, and at most 4 GiB, or an error. Time: O(bytes).
class PickleReader {
public:
    struct Encoded {
        std::string bytes;
        std::string place;  ///< in words, for errors
    };
    explicit PickleReader(Encoded encoded) : place_{std::move(encoded.place)} { data_.bytes_ = std::move(encoded.bytes); }

    /// Throws Error with the place and the byte.
    [[nodiscard]] PickledData read();

private:
    using Kind = PickleValue::Kind;
    [[nodiscard]] static PickleValue value(Kind kind, std::uint64_t payload = 0) {
        return {payload << 4U | static_cast<std::uint64_t>(kind)};
    }
    /// Carries out one instruction. Returns false at the end of the pickle.
    [[nodiscard]] bool step(unsigned char code);
    [[nodiscard]] bool step_container(unsigned char code);
    [[nodiscard]] bool step_memo(unsigned char code);
    [[nodiscard]] bool step_scalar(unsigned char code);

    [[nodiscard]] std::uint64_t number(std::size_t bytes);  ///< lowest byte first
    void push(PickleValue value);
    [[nodiscard]] PickleValue pop();
    void push_integer(std::int64_t integer);
    void push_long(std::uint64_t bytes);
    void push_text(std::uint64_t bytes);
    void push_container(Kind kind, std::size_t from);  ///< of the stack's values from there on
    /// The position behind the topmost mark. Everything from there on is above it.
    [[nodiscard]] std::size_t above_mark() const;
    void close_mark(std::size_t above) { stack_.resize(above - 1); }
    /// Moves the stack's values from `from` on into the container below them, or below their mark.
    void extend(Kind kind, std::size_t from, bool marked);
    void remember(std::uint64_t place);
    void recall(std::uint64_t place);
    void spend(std::size_t bytes);
    [[nodiscard]] Error damaged(const std::string& what) const;

    PickledData data_;
    std::string place_;
    std::size_t at_ = 0;
    std::vector<PickleValue> stack_;
    std::vector<PickleValue> memo_;
    std::size_t remembered_ = 0;
    std::size_t budget_ = 0;
};

}  // namespace hpo::allocator
