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
#include "allocator/snapshot/snapshot_values.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

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
