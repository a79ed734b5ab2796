// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/snapshot/pickled_data.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

/// Reads single values of a snapshot's pickle and checks their ranges. Errors name the file and the part that is read.
class SnapshotValues {
protected:
    SnapshotValues(const PickledData& data, std::string place) : data_{data}, place_{std::move(place)} {}

    static constexpr std::int64_t largest_bytes = std::int64_t{1} << 44;
    static constexpr std::uint64_t highest_address = std::uint64_t{1} << 62U;
    static constexpr std::size_t no_event_ = std::numeric_limits<std::size_t>::max();

    [[nodiscard]] Error not_a_snapshot(const std::string& why) const {
        return {Errc::bad_value,
                place_ + ": a pickle, but no memory snapshot: " + why + "; torch.cuda.memory._dump_snapshot() writes a snapshot"};
    }
    [[nodiscard]] Error wrong(std::string_view what, std::string_view expected) const {
        return {Errc::bad_value, place_ + ": damaged memory snapshot: " + where() + std::string{what} + " is not " + std::string{expected}};
    }
    /// The part that is read, for errors.
    [[nodiscard]] std::string where() const {
        if (event_ == no_event_) return where_;
        return "device " + std::to_string(device_) + ", event " + std::to_string(event_) + ": ";
    }
    /// A pickle may name one list many times. What is read is not more than it could write out.
    void spend(std::size_t values) {
        spent_ += values;
        if (spent_ > data_.bytes()) {
            throw Error{Errc::bad_value, place_ + ": damaged memory snapshot: " + where() + "it repeats more than " +
                                             std::to_string(data_.bytes()) + " values, which is its size in bytes"};
        }
    }
    void require_dictionary(PickleValue value, std::string_view what) {
        if (value.kind() != PickleValue::Kind::dictionary) throw wrong(what, "a dictionary");
        if (data_.dictionary(value).size() > 128) throw wrong(what, "a dictionary of at most 64 entries");
        spend(1);
    }
    /// 0 for a time that makes no sense.
    [[nodiscard]] std::int64_t time_us(PickleValue value) const {
        const std::int64_t time = data_.integer(value).value_or(0);
        return time >= 0 && time < std::int64_t{1} << 62U ? time : 0;
    }
    [[nodiscard]] PickleValue need(PickleValue in, std::string_view key) const {
        const auto found = data_.find(in, key);
        if (!found) throw Error{Errc::bad_value, place_ + ": damaged memory snapshot: " + where() + "no '" + std::string{key} + "'"};
        return *found;
    }
    [[nodiscard]] std::uint64_t address(PickleValue in, std::string_view key) const {
        const auto found = data_.natural(need(in, key));
        if (!found || *found > highest_address) throw wrong(key, "an address");
        return *found;
    }
    [[nodiscard]] std::int64_t bytes(PickleValue in, std::string_view key) const {
        const auto found = data_.integer(need(in, key));
        if (!found || *found < 0 || *found > largest_bytes) throw wrong(key, "a size of at most 16 TiB");
        return *found;
    }
    /// Sums of what was recorded never overflow.
    void add_up(std::int64_t size) {
        in_all_ += size;
        if (in_all_ > most_traced_bytes) throw wrong("the sum of all sizes", "at most 2^60 bytes");
    }
    /// A handle that may be written as a negative number.
    [[nodiscard]] std::uint64_t stream(PickleValue in) const {
        const auto found = data_.find(in, "stream");
        if (!found) return 0;
        if (const auto number = data_.natural(*found)) return *number;
        if (const auto number = data_.integer(*found)) return static_cast<std::uint64_t>(*number);
        throw wrong("stream", "a number");
    }
    [[nodiscard]] int device(PickleValue in) const {
        const auto found = data_.find(in, "device");
        if (!found) return 0;
        const auto number = data_.integer(*found);
        if (!number || *number < 0 || *number > 4095) throw wrong("device", "a device's number");
        return static_cast<int>(*number);
    }

    const PickledData& data_;
    std::string place_;
    std::string where_;              ///< the segment or annotation that is read
    std::size_t device_ = 0;         ///< of the event that is read
    std::size_t event_ = no_event_;  ///< the event that is read

private:
    std::size_t spent_ = 0;
    std::int64_t in_all_ = 0;
};

}  // namespace hpo::allocator
