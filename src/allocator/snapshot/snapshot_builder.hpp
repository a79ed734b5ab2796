// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/snapshot/pickled_data.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"
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

/// Makes a Snapshot of a pickle's data. Checks every number that a replay relies on.
class SnapshotBuilder : SnapshotValues {
public:
    SnapshotBuilder(const PickledData& data, std::string place) : SnapshotValues{data, std::move(place)} {
        frame_of_.assign(data.containers(), unknown);
        stack_of_.assign(data.containers(), unknown);
        stack_numbers_.emplace(std::vector<std::uint32_t>{}, 0);
        text_numbers_.emplace("", 0);
        pool_numbers_.emplace(result_.private_pools.front(), 0);
    }

    [[nodiscard]] Snapshot build() {
        PickleValue segments = data_.root();
        if (data_.root().kind() == PickleValue::Kind::dictionary) {
            const auto found = data_.find(data_.root(), "segments");
            if (!found) throw not_a_snapshot("it has no 'segments'");
            segments = *found;
        }
        if (segments.kind() != PickleValue::Kind::list) throw not_a_snapshot("it is neither a dictionary nor a list of segments");
        for (const PickleValue each : data_.list(segments)) read_segment(each);
        if (const auto traces = data_.find(data_.root(), "device_traces")) {
            if (traces->kind() != PickleValue::Kind::list) throw wrong("device_traces", "a list");
            for (const PickleValue each : data_.list(*traces)) read_history(each);
        }
        read_settings();
        read_annotations();
        return std::move(result_);
    }

private:
    static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

    [[nodiscard]] std::uint32_t text(std::optional<PickleValue> value) {
        const std::string_view found = value ? data_.text(*value).value_or("") : "";
        if (const auto known = text_numbers_.find(found); known != text_numbers_.end()) return known->second;
        const auto number = static_cast<std::uint32_t>(result_.texts.size());
        result_.texts.emplace_back(found);
        text_numbers_.emplace(found, number);  // views of the pickle's bytes
        return number;
    }

    [[nodiscard]] std::uint32_t frame(PickleValue value) {
        require_dictionary(value, "a frame");
        std::uint32_t& number = frame_of_[value.payload()];
        if (number != unknown) return number;
        Frame read{.file = text(data_.find(value, "filename")), .function = text(data_.find(value, "name"))};
        if (const auto line = data_.find(value, "line")) read.line = data_.integer(*line).value_or(0);
        const auto [at, added] =
            frame_numbers_.try_emplace({read.file, read.function, read.line}, static_cast<std::uint32_t>(result_.frames.size()));
        if (added) result_.frames.push_back(read);
        return number = at->second;
    }

    [[nodiscard]] std::uint32_t stack(PickleValue in) {
        const auto frames = data_.find(in, "frames");
        if (!frames || frames->kind() != PickleValue::Kind::list) return 0;
        std::uint32_t& known = stack_of_[frames->payload()];
        if (known != unknown) return known;
        std::vector<std::uint32_t> read;
        spend(data_.list(*frames).size() / 8);
        for (const PickleValue each : data_.list(*frames)) read.push_back(frame(each));
        const auto [at, added] = stack_numbers_.try_emplace(std::move(read), static_cast<std::uint32_t>(result_.stacks.size()));
        if (added) result_.stacks.push_back(at->first);
        return known = at->second;
    }

    void read_segment(PickleValue value) {
        where_ = "segment " + std::to_string(result_.segments.size()) + ": ";
        if (value.kind() != PickleValue::Kind::dictionary) throw not_a_snapshot("a segment is no dictionary");
        require_dictionary(value, "a segment");
        Segment segment;
        segment.address = address(value, "address");
        segment.bytes = bytes(value, "total_size");
        segment.stream = stream(value);
        segment.device = device(value);
        const auto kind = data_.find(value, "segment_type");
        segment.small = kind && data_.text(*kind) == "small";
        const auto expandable = data_.find(value, "is_expandable");
        segment.expandable = expandable && data_.boolean(*expandable).value_or(false);
        segment.private_pool = private_pool(data_.find(value, "segment_pool_id"));
        add_up(segment.bytes);
        std::uint64_t behind = segment.address;
        const PickleValue blocks = need(value, "blocks");
        if (blocks.kind() != PickleValue::Kind::list) throw wrong("blocks", "a list");
        for (const PickleValue each : data_.list(blocks)) {
            segment.blocks.push_back(read_block(each, behind));
            behind += static_cast<std::uint64_t>(segment.blocks.back().bytes);
            if (behind - segment.address > static_cast<std::uint64_t>(segment.bytes)) break;
        }
        if (!segment.blocks.empty() && behind - segment.address != static_cast<std::uint64_t>(segment.bytes))
            throw wrong("the sum of its blocks", "its size");
        result_.segments.push_back(std::move(segment));
        where_.clear();
    }

    /// Blocks lie beside each other. `address` is the end of the one before.
    [[nodiscard]] Block read_block(PickleValue value, std::uint64_t address) {
        require_dictionary(value, "a block");
        Block block{.address = address, .bytes = bytes(value, "size")};
        if (const auto told = data_.find(value, "address"); told && data_.natural(*told) != address)
            throw wrong("a block's address", "the end of the block before it");
        if (block.bytes == 0) throw wrong("a block's size", "above 0");
        block.requested_bytes = block.bytes;
        if (const auto told = data_.find(value, "requested_size"))
            block.requested_bytes = std::clamp<std::int64_t>(data_.integer(*told).value_or(block.bytes), 0, block.bytes);
        const auto state = data_.text(need(value, "state"));
        if (!state) throw wrong("a block's state", "a text");
        block.state = *state == "active_allocated" ? Block::State::live
                      : *state == "inactive"       ? Block::State::cached
                                                   : Block::State::waiting;
        block.stack = stack(value);
        // PyTorch 1.13 and 2.0 write what was requested of a block, the latest first.
        if (const auto history = data_.find(value, "history"); history && !data_.list(*history).empty()) {
            const PickleValue latest = data_.list(*history).front();
            if (const auto told = data_.find(latest, "real_size"))
                block.requested_bytes = std::clamp<std::int64_t>(data_.integer(*told).value_or(block.bytes), 0, block.bytes);
            if (block.stack == 0) block.stack = stack(latest);
        }
        return block;
    }

    [[nodiscard]] std::uint64_t private_pool(std::optional<PickleValue> value) {
        if (!value) return 0;
        std::vector<std::uint64_t> numbers;
        for (const PickleValue each : data_.list(*value)) numbers.push_back(data_.natural(each).value_or(0));
        if (numbers.empty()) return 0;
        const auto [at, added] = pool_numbers_.try_emplace(numbers, result_.private_pools.size());
        if (added) result_.private_pools.push_back(std::move(numbers));
        return at->second;
    }

    void read_history(PickleValue values) {
        if (values.kind() != PickleValue::Kind::list) throw wrong("the history of a device", "a list");
        std::vector<Event>& events = result_.history.emplace_back();
        for (const PickleValue each : data_.list(values)) {
            device_ = result_.history.size() - 1;
            event_ = events.size();
            require_dictionary(each, "an event");
            Event event{.action = action(need(each, "action"))};
            if (event.action == Event::Action::other) {
                const auto word = data_.text(need(each, "action"));
                if (word != "snapshot" && word != "user_defined") ++result_.unknown_actions;  // these two change no memory
                continue;
            }
            event.bytes = bytes(each, "size");
            event.stream = stream(each);
            if (event.action == Event::Action::out_of_memory) {
                event.device_free = bytes(each, "device_free");
            } else {
                event.address = address(each, "addr");
                add_up(event.bytes);
            }
            if (const auto time = data_.find(each, "time_us")) event.time_us = time_us(*time);
            event.stack = stack(each);
            events.push_back(event);
        }
        event_ = no_event_;
    }

    [[nodiscard]] Event::Action action(PickleValue value) const {
        using enum Event::Action;
        static constexpr std::array<std::pair<std::string_view, Event::Action>, 8> words{{{"alloc", take},
                                                                                          {"free_completed", give_back},
                                                                                          {"free_requested", ask_back},
                                                                                          {"segment_alloc", take_segment},
                                                                                          {"segment_free", free_segment},
                                                                                          {"segment_map", map_pages},
                                                                                          {"segment_unmap", unmap_pages},
                                                                                          {"oom", out_of_memory}}};
        const auto word = data_.text(value);
        for (const auto& [name, meaning] : words) {
            if (word == name) return meaning;
        }
        return other;
    }

    void read_settings() {
        const auto settings = data_.find(data_.root(), "allocator_settings");
        if (!settings) return;
        const auto text_of = [&](std::string_view key) {
            const auto found = data_.find(*settings, key);
            return found ? data_.text(*found) : std::nullopt;
        };
        for (const std::string_view key : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
            if (const auto found = text_of(key); found && (!result_.settings || result_.settings->empty())) result_.settings = *found;
        }
    }

    void read_annotations() {
        const auto annotations = data_.find(data_.root(), "external_annotations");
        if (!annotations) return;
        for (const PickleValue each : data_.list(*annotations)) {
            spend(1);
            Annotation read{.name = text(data_.find(each, "name"))};
            where_ = "annotation " + std::to_string(result_.annotations.size()) + ": ";
            read.device = device(each);
            const auto stage = data_.find(each, "stage");
            read.begins = stage && data_.text(*stage) == "START";
            if (const auto time = data_.find(each, "time_us")) read.time_us = time_us(*time);
            result_.annotations.push_back(read);
        }
        where_.clear();
    }

    Snapshot result_;
    std::vector<std::uint32_t> frame_of_;  ///< by container
    std::vector<std::uint32_t> stack_of_;  ///< by container
    std::unordered_map<std::string_view, std::uint32_t> text_numbers_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t> frame_numbers_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> stack_numbers_;
    std::map<std::vector<std::uint64_t>, std::uint64_t> pool_numbers_;
};

}  // namespace hpo::allocator
