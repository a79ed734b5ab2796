// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/write_snapshot.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/allocator/caching_allocator.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/new_file.hpp"

namespace hpo::allocator {

/// Writes plain data as a pickle of protocol 4. Texts are written once.
class PickleText {
public:
    PickleText() : bytes_{'\x80', '\x04'} {}

    void begin_list() { bytes_ += "]("; }
    void end_list() { bytes_ += 'e'; }
    void begin_dictionary() { bytes_ += "}("; }
    void end_dictionary() { bytes_ += 'u'; }
    void add(std::string_view text) {
        if (const auto known = texts_.find(text); known != texts_.end()) {
            bytes_ += 'j';
            little_endian(known->second, 4);
            return;
        }
        bytes_ += 'X';
        little_endian(text.size(), 4);
        bytes_ += text;
        bytes_ += '\x94';
        texts_.emplace(text, texts_.size());
    }
    void add(std::int64_t number) {
        bytes_ += "\x8a\x08";
        little_endian(static_cast<std::uint64_t>(number), 8);
    }
    void add(bool value) { bytes_ += value ? '\x88' : '\x89'; }
    template <class Value>
    void entry(std::string_view key, Value value) {
        add(key);
        add(value);
    }
    [[nodiscard]] std::string finish() { return std::move(bytes_) + '.'; }

private:
    void little_endian(std::uint64_t value, int count) {
        for (int i = 0; i < count; ++i, value >>= 8U) bytes_ += static_cast<char>(static_cast<unsigned char>(value));
    }
    std::string bytes_;
    std::map<std::string, std::uint64_t, std::less<>> texts_;
};

/// Replays a trace and writes what the model does.
class SnapshotWriter {
public:
    SnapshotWriter(const AllocationTrace& trace, const WrittenSettings& settings)
        : trace_{trace},
          settings_{settings.settings},
          conf_{settings.conf},
          allocator_{settings.settings},
          held_(trace.blocks.size(), AllocatorBlocks::none) {
        allocator_.watch();
        for (const std::uint32_t stream : trace.private_streams) allocator_.keep(stream);
    }

    [[nodiscard]] std::string write() {
        pickle_.begin_dictionary();
        pickle_.add(std::string_view{"device_traces"});
        pickle_.begin_list();
        pickle_.begin_list();
        auto emptied = trace_.emptied.begin();
        for (std::size_t i = 0; i < trace_.events.size(); ++i) {
            for (; emptied != trace_.emptied.end() && *emptied <= i; ++emptied) {
                allocator_.empty_cache();
                write_changes("empty_cache", 0, i);
            }
            replay(i);
        }
        if (emptied != trace_.emptied.end()) {
            allocator_.empty_cache();
            write_changes("empty_cache", 0, trace_.events.size());
        }
        pickle_.end_list();
        pickle_.end_list();
        write_segments();
        write_settings();
        pickle_.end_dictionary();
        return pickle_.finish();
    }

private:
    static constexpr std::int64_t begin_us = 1'000'000;

    void replay(std::size_t number) {
        const std::int64_t event = trace_.events[number];
        const std::size_t block = AllocationTrace::block_of(event);
        const TracedBlock& traced = trace_.blocks[block];
        if (event < 0) {
            write_event("free_requested", {allocator_.address(held_[block]), traced.bytes, block, scope_of(block)}, number);
            write_event("free_completed", {allocator_.address(held_[block]), traced.bytes, block, scope_of(block)}, number);
            allocator_.give_back(std::exchange(held_[block], AllocatorBlocks::none));
            return;
        }
        allocator_.place_next(next_);
        const auto taken = allocator_.take(traced.bytes, traced.stream);
        if (!taken) throw Error{Errc::bad_value, "allocation trace: more than 2^50 bytes at a time"};
        held_[block] = *taken;
        owner_[*taken] = {.block = block, .event = number};
        write_changes(scope_of(block), block, number);
        write_event("alloc", {allocator_.address(*taken), traced.bytes, block, scope_of(block)}, number);
    }

    /// `cause` is the function in their stack.
    void write_changes(std::string_view cause, std::size_t block, std::size_t number) {
        for (const SegmentChange& each : allocator_.changes()) {
            const char* const action = settings_.expandable_segments ? each.taken ? "segment_map" : "segment_unmap"
                                       : each.taken                  ? "segment_alloc"
                                                                     : "segment_free";
            write_event(action, {each.address, each.bytes, block, cause}, number);
            if (each.taken && each.address >= next_)
                next_ = (each.address / apart_ + 1 + static_cast<std::uint64_t>(each.bytes) / apart_) * apart_;
        }
    }

    [[nodiscard]] std::string_view scope_of(std::size_t block) const { return trace_.scopes[trace_.blocks[block].scope]; }
    struct Written {
        std::uint64_t address = 0;
        std::int64_t bytes = 0;
        std::size_t block = 0;
        std::string_view function;
    };
    void write_event(std::string_view action, const Written& written, std::size_t number) {
        pickle_.begin_dictionary();
        pickle_.entry("action", action);
        pickle_.entry("addr", static_cast<std::int64_t>(written.address));
        pickle_.entry("size", written.bytes);
        pickle_.entry("stream", std::int64_t{trace_.blocks[written.block].stream});
        pickle_.entry("time_us", begin_us + static_cast<std::int64_t>(number));
        write_frames(written.function, number);
        pickle_.end_dictionary();
    }
    void write_frames(std::string_view function, std::size_t number) {
        pickle_.add(std::string_view{"frames"});
        pickle_.begin_list();
        pickle_.begin_dictionary();
        pickle_.entry("filename", phase_of(trace_, number));
        pickle_.entry("line", std::int64_t{0});
        pickle_.entry("name", function);
        pickle_.end_dictionary();
        pickle_.end_list();
    }

    /// Of an expandable segment each run of mapped pages is a segment.
    void write_segments() {
        pickle_.add(std::string_view{"segments"});
        pickle_.begin_list();
        std::vector<AllocatorBlocks::Index> run;
        for (const AllocatorBlocks::Index each : allocator_.layout()) {
            const AllocatorBlock& block = allocator_.block(each);
            const bool unmapped = block.state == AllocatorBlock::State::unmapped;
            if (!run.empty() && (unmapped || allocator_.block(run.back()).segment != block.segment)) write_segment(std::exchange(run, {}));
            if (!unmapped) run.push_back(each);
        }
        if (!run.empty()) write_segment(run);
        pickle_.end_list();
    }
    void write_segment(const std::vector<AllocatorBlocks::Index>& run) {
        const AllocatorBlock& first = allocator_.block(run.front());
        std::int64_t total = 0;
        std::int64_t live = 0;
        std::int64_t requested = 0;
        for (const AllocatorBlocks::Index each : run) {
            const AllocatorBlock& block = allocator_.block(each);
            total += block.bytes;
            if (block.state != AllocatorBlock::State::taken) continue;
            live += block.bytes;
            requested += block.requested_bytes;
        }
        pickle_.begin_dictionary();
        pickle_.entry("device", std::int64_t{0});
        pickle_.entry("address", static_cast<std::int64_t>(allocator_.address(run.front())));
        pickle_.entry("total_size", total);
        pickle_.entry("allocated_size", live);
        pickle_.entry("active_size", live);
        pickle_.entry("requested_size", requested);
        pickle_.entry("stream", std::int64_t{first.stream});
        pickle_.entry("segment_type", std::string_view{first.small ? "small" : "large"});
        pickle_.add(std::string_view{"segment_pool_id"});
        pickle_.begin_list();
        // PyTorch numbers a graph's pool by a second number above 0.
        const bool is_private = std::ranges::find(trace_.private_streams, first.stream) != trace_.private_streams.end();
        pickle_.add(std::int64_t{0});
        pickle_.add(is_private ? std::int64_t{first.stream} + 1 : std::int64_t{0});
        pickle_.end_list();
        pickle_.entry("is_expandable", settings_.expandable_segments);
        pickle_.add(std::string_view{"blocks"});
        pickle_.begin_list();
        for (const AllocatorBlocks::Index each : run) {
            const AllocatorBlock& block = allocator_.block(each);
            const bool taken = block.state == AllocatorBlock::State::taken;
            pickle_.begin_dictionary();
            pickle_.entry("address", static_cast<std::int64_t>(allocator_.address(each)));
            pickle_.entry("size", block.bytes);
            pickle_.entry("requested_size", taken ? block.requested_bytes : std::int64_t{0});
            pickle_.entry("state", std::string_view{taken ? "active_allocated" : "inactive"});
            if (taken) write_frames(scope_of(owner_.at(each).block), owner_.at(each).event);
            pickle_.end_dictionary();
        }
        pickle_.end_list();
        pickle_.end_dictionary();
    }
    void write_settings() {
        pickle_.add(std::string_view{"allocator_settings"});
        pickle_.begin_dictionary();
        pickle_.entry("PYTORCH_CUDA_ALLOC_CONF", std::string_view{conf_});
        pickle_.entry("expandable_segments", settings_.expandable_segments);
        pickle_.end_dictionary();
        pickle_.add(std::string_view{"external_annotations"});
        pickle_.begin_list();
        pickle_.end_list();
    }

    const AllocationTrace& trace_;
    const AllocatorSettings& settings_;
    const std::string& conf_;
    CachingAllocator allocator_;
    std::uint64_t apart_ = std::uint64_t{1} << (settings_.expandable_segments ? 42U : 36U);  ///< an expandable segment may grow as far
    std::uint64_t next_ = 16 * apart_;                                                       ///< the address of the next segment
    std::vector<AllocatorBlocks::Index> held_;
    struct Owner {
        std::size_t block = 0;
        std::size_t event = 0;  ///< that took it
    };
    std::map<AllocatorBlocks::Index, Owner> owner_;  ///< the trace's block, of each that was ever taken
    PickleText pickle_;
};

std::string encode_snapshot(const AllocationTrace& trace, const WrittenSettings& settings) {
    return SnapshotWriter{trace, settings}.write();
}

void write_snapshot(const std::filesystem::path& file, const AllocationTrace& trace, const WrittenSettings& settings) {
    const std::string bytes = encode_snapshot(trace, settings);
    NewFile output{file};
    output.write(std::as_bytes(std::span{bytes}));
    output.commit();
}

}  // namespace hpo::allocator
