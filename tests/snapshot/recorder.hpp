// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/plain_allocator.hpp"
#include "hpo/allocator/settings.hpp"
#include "snapshot/pickle_writer.hpp"

namespace hpo::tests {

/// What a version of PyTorch writes into its snapshots.
struct SnapshotForm {
    int protocol = 4;
    bool requested_sizes = true;   ///< since 2.1
    bool block_addresses = true;   ///< since 2.1
    bool block_histories = false;  ///< 1.13 and 2.0
    bool settings = true;          ///< since 2.3
    bool times = true;             ///< since 2.2
    bool annotations = false;      ///< since 2.6
    bool frames = true;            ///< with stacks
};

/// Writes down what the plain allocator does, as PyTorch writes down what its allocator does. A recording may begin later than the program.
class SnapshotRecorder {
public:
    SnapshotRecorder(const allocator::AllocatorSettings& settings, const allocator::AllocatorDevice& device)
        : settings_{settings}, capacity_{device.total_bytes}, allocator_{settings, device} {}

    void begin() { recording_ = true; }
    /// Takes a block. Returns false if it ran out of memory.
    bool take(std::size_t owner, std::int64_t bytes, std::uint32_t stream, std::string_view line) {
        const bool served = allocator_.take(owner, bytes, stream);
        changes(line);
        if (served) {
            const auto [address, size] = find(owner);
            live_[address] = {bytes, std::string{line}};
            event("alloc", address, bytes, stream, line);
        } else {
            Plain oom = Plain::tabled({{"action", Plain::of("oom")},
                                       {"device_free", Plain::of(capacity_ - allocator_.reserved())},
                                       {"size", Plain::of(bytes)},
                                       {"stream", Plain::of(std::int64_t{stream})}});
            add(std::move(oom), line);
        }
        return served;
    }
    void give_back(std::size_t owner, std::uint32_t stream) {
        const auto [address, size] = find(owner);
        const std::int64_t bytes = live_.at(address).first;
        live_.erase(address);
        allocator_.give_back(owner);
        event("free_requested", address, bytes, stream, "");
        event("free_completed", address, bytes, stream, "");
    }
    /// The program gives a block back, but another stream still uses it.
    void ask_back(std::size_t owner, std::uint32_t stream) {
        const std::uint64_t address = find(owner).first;
        pending_.insert(address);
        event("free_requested", address, live_.at(address).first, stream, "");
    }
    void empty_cache() {
        allocator_.empty_cache();
        changes("empty_cache");
    }
    /// The time of the last event, in microseconds.
    [[nodiscard]] std::int64_t last_time() const { return first_time + static_cast<std::int64_t>(events_.size()) - 1; }
    [[nodiscard]] std::int64_t reserved() const { return allocator_.reserved(); }
    [[nodiscard]] const PlainAllocator& allocator() const { return allocator_; }

    [[nodiscard]] Plain snapshot(const SnapshotForm& form, const std::string& settings) const {
        std::vector<Plain> segments;
        for (const PlainSegment& each : allocator_.segments()) write_segment(each, form, segments);
        std::vector<Plain> events;
        for (const Plain& each : events_) {
            Plain written = each;
            for (std::size_t i = 0; i < written.items.size();) {
                const bool left_out =
                    (!form.times && written.items[i].text == "time_us") || (!form.frames && written.items[i].text == "frames");
                if (left_out) written.items.erase(written.items.begin() + std::ptrdiff_t(i), written.items.begin() + std::ptrdiff_t(i) + 2);
                else i += 2;
            }
            events.push_back(std::move(written));
        }
        Plain result = Plain::tabled(
            {{"segments", Plain::listed(std::move(segments))}, {"device_traces", Plain::listed({Plain::listed(std::move(events))})}});
        if (form.settings) {
            result.items.push_back(Plain::of("allocator_settings"));
            result.items.push_back(
                Plain::tabled({{"PYTORCH_CUDA_ALLOC_CONF", Plain::of(settings)}, {"max_split_size", Plain::of(std::int64_t{-1})}}));
        }
        if (form.annotations) {
            result.items.push_back(Plain::of("external_annotations"));
            result.items.push_back(Plain::listed({}));
        }
        return result;
    }

private:
    static constexpr std::int64_t first_time = 1'700'000'000'000'000;

    /// Segments are far from each other, in the order of their places.
    [[nodiscard]] static std::uint64_t address(std::uint64_t place, std::int64_t offset) {
        return (std::uint64_t{0x100} + place) * (std::uint64_t{1} << 36U) + static_cast<std::uint64_t>(offset);
    }
    [[nodiscard]] std::pair<std::uint64_t, std::int64_t> find(std::size_t owner) const {
        for (const PlainSegment& segment : allocator_.segments()) {
            std::int64_t offset = 0;
            for (const PlainPiece& piece : segment.pieces) {
                if (piece.kind == PlainPiece::used && piece.owner == owner) return {address(segment.place, offset), piece.bytes};
                offset += piece.bytes;
            }
        }
        return {};
    }
    void changes(std::string_view line) {
        for (const PlainChange& each : allocator_.changes) {
            const std::string_view action = settings_.expandable_segments ? (each.taken ? "segment_map" : "segment_unmap")
                                                                          : (each.taken ? "segment_alloc" : "segment_free");
            event(action, address(each.place, each.offset), each.bytes, each.stream, line);
        }
        allocator_.changes.clear();
    }
    void event(std::string_view action, std::uint64_t address, std::int64_t bytes, std::uint32_t stream, std::string_view line) {
        add(Plain::tabled({{"action", Plain::of(action)},
                           {"addr", Plain::of(address)},
                           {"size", Plain::of(bytes)},
                           {"stream", Plain::of(std::int64_t{stream})}}),
            line);
    }
    void add(Plain event, std::string_view line) {
        if (!recording_) return;
        event.items.push_back(Plain::of("time_us"));
        event.items.push_back(Plain::of(first_time + std::int64_t(events_.size())));
        if (!line.empty()) {
            event.items.push_back(Plain::of("frames"));
            event.items.push_back(frames(line));
        }
        events_.push_back(std::move(event));
    }
    /// A stack whose innermost line is PyTorch's, and the next one the user's.
    [[nodiscard]] static Plain frames(std::string_view line) {
        const auto frame = [](std::string_view file, std::int64_t number, std::string_view function) {
            return Plain::tabled({{"filename", Plain::of(file)}, {"line", Plain::of(number)}, {"name", Plain::of(function)}});
        };
        return Plain::listed(
            {frame("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1501, line == "empty_cache" ? line : "_call_impl"),
             frame("/home/user/train.py", 10, line)});
    }
    void write_segment(const PlainSegment& segment, const SnapshotForm& form, std::vector<Plain>& segments) const {
        // Of an expandable segment each run of mapped pages is written as a segment.
        std::vector<Plain> blocks;
        std::int64_t begin = 0;
        std::int64_t offset = 0;
        const auto close = [&] {
            if (offset > begin) {
                segments.push_back(
                    Plain::tabled({{"device", Plain::of(std::int64_t{0})},
                                   {"address", Plain::of(address(segment.place, begin))},
                                   {"total_size", Plain::of(offset - begin)},
                                   {"stream", Plain::of(std::int64_t{segment.stream})},
                                   {"segment_type", Plain::of(segment.small ? "small" : "large")},
                                   {"segment_pool_id", Plain::tupled({Plain::of(std::int64_t{0}), Plain::of(std::int64_t{0})})},
                                   {"is_expandable", Plain::yes(settings_.expandable_segments)},
                                   {"blocks", Plain::listed(std::move(blocks))}}));
            }
            blocks.clear();
        };
        for (const PlainPiece& piece : segment.pieces) {
            if (piece.kind == PlainPiece::hole) {
                close();
                begin = offset + piece.bytes;
            } else {
                const bool used = piece.kind == PlainPiece::used;
                const char* const state = !used                                               ? "inactive"
                                          : pending_.contains(address(segment.place, offset)) ? "active_pending_free"
                                                                                              : "active_allocated";
                Plain block = Plain::tabled({{"size", Plain::of(piece.bytes)}, {"state", Plain::of(state)}});
                const auto add_to = [](Plain& table, std::string_view key, Plain value) {
                    table.items.push_back(Plain::of(key));
                    table.items.push_back(std::move(value));
                };
                if (form.block_addresses) add_to(block, "address", Plain::of(address(segment.place, offset)));
                if (used) {
                    const auto& [requested, line] = live_.at(address(segment.place, offset));
                    if (form.requested_sizes) add_to(block, "requested_size", Plain::of(requested));
                    if (form.block_histories) {
                        add_to(block, "history",
                               Plain::listed({Plain::tabled({{"addr", Plain::of(address(segment.place, offset))},
                                                             {"real_size", Plain::of(requested)},
                                                             {"frames", frames(line)}})}));
                    } else if (form.frames) {
                        add_to(block, "frames", frames(line));
                    }
                }
                blocks.push_back(std::move(block));
            }
            offset += piece.bytes;
            if (piece.kind == PlainPiece::hole) offset = begin;
        }
        close();
    }

    allocator::AllocatorSettings settings_;
    std::int64_t capacity_;
    PlainAllocator allocator_;
    bool recording_ = false;
    std::vector<Plain> events_;
    std::map<std::uint64_t, std::pair<std::int64_t, std::string>> live_;
    std::set<std::uint64_t> pending_;
};

}  // namespace hpo::tests
