// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "allocator/plain_pieces.hpp"
#include "hpo/allocator/settings.hpp"
#include "hpo/core/seed.hpp"

namespace hpo::tests {

/// The rules of LibTorch's caching allocator once more, with nothing but lists that are looked through from end to end. Slow; what the
/// model must be equal to.
class PlainAllocator {
public:
    using Piece = PlainPiece;
    using Segment = PlainSegment;
    struct At {
        std::size_t segment = 0;
        std::size_t piece = 0;
    };

    PlainAllocator(const allocator::AllocatorSettings& settings, const allocator::AllocatorDevice& device)
        : settings_{settings}, sizes_{settings_}, device_{device}, limit_{device.total_bytes - device.outside_bytes} {
        if (settings.memory_fraction) allowed_ = static_cast<std::int64_t>(*settings.memory_fraction * double(device.total_bytes));
    }

    bool take(std::size_t owner, std::int64_t bytes, std::uint32_t stream = 0) {
        const std::int64_t size = sizes_.rounded(bytes);
        const bool small = size <= PlainSizes::kib(1024);
        ++searches_[small];
        stream_ = stream;
        std::optional<At> at = best(size, small);
        if (!at) {
            if (allowed_ && settings_.garbage_collection_threshold > 0) sweep();
            at = from_device(size, small);
            if (!at && drop_oversize(size, small)) at = from_device(size, small);
            if (!at) {
                empty_cache();
                ++retries;
                at = from_device(size, small);
            }
        }
        if (!at) return false;
        std::vector<Piece>& pieces = segments_[at->segment].pieces;
        const std::int64_t rest = pieces[at->piece].bytes - size;
        bool cut = rest >= 512;
        if (!small && !settings_.expandable_segments) cut = rest > PlainSizes::kib(1024) && size < settings_.max_split_bytes;
        if (cut) {
            pieces[at->piece].bytes = size;
            pieces.insert(pieces.begin() + std::ptrdiff_t(at->piece) + 1, Piece{rest, Piece::idle, 0, searches_[small]});
        }
        pieces[at->piece].kind = Piece::used;
        pieces[at->piece].owner = owner;
        return true;
    }
    void give_back(std::size_t owner) {
        for (Segment& segment : segments_) {
            for (Piece& piece : segment.pieces) {
                if (piece.kind != Piece::used || piece.owner != owner) continue;
                piece.kind = Piece::idle;
                piece.idle_since = searches_[segment.small];
                segment.tidy();
                return;
            }
        }
    }
    /// Gives the device back what is idle, of every stream: whole segments, or pages.
    void empty_cache() {
        if (!settings_.expandable_segments) {
            for (std::size_t i = segments_.size(); i > 0; --i) {
                if (segments_[i - 1].all_idle()) drop(i - 1);
            }
            return;
        }
        for (Segment& segment : segments_) {
            const std::int64_t page = segment.small ? PlainSizes::kib(2048) : settings_.large_segment_bytes;
            std::vector<Piece> pieces;
            std::int64_t offset = 0;
            for (const Piece& piece : segment.pieces) {
                const std::int64_t end = offset + piece.bytes;
                const std::int64_t first = offset % page == 0 ? offset : offset + page - offset % page;
                const std::int64_t last = end - end % page;
                if (piece.kind != Piece::idle || first >= last) {
                    pieces.push_back(piece);
                } else {
                    if (first > offset) pieces.push_back({first - offset, Piece::idle, 0, piece.idle_since});
                    pieces.push_back({last - first, Piece::hole, 0, 0});
                    changes.push_back({false, segment.place, segment.stream, first, last - first});
                    if (end > last) pieces.push_back({end - last, Piece::idle, 0, piece.idle_since});
                }
                offset = end;
            }
            segment.pieces = pieces;
            segment.tidy();
        }
        std::erase_if(segments_,
                      [](const Segment& segment) { return segment.pieces.size() == 1 && segment.pieces[0].kind == Piece::hole; });
    }
    [[nodiscard]] std::int64_t allocated() const {
        std::int64_t sum = 0;
        for (const Segment& segment : segments_) {
            for (const Piece& piece : segment.pieces) sum += piece.kind == Piece::used ? piece.bytes : 0;
        }
        return sum;
    }
    [[nodiscard]] std::int64_t reserved() const {
        std::int64_t sum = 0;
        for (const Segment& segment : segments_) {
            for (const Piece& piece : segment.pieces) sum += piece.kind != Piece::hole ? piece.bytes : 0;
        }
        return sum;
    }
    [[nodiscard]] std::int64_t asked(std::int64_t bytes) const { return sizes_.asked(bytes); }
    [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
    std::int64_t retries = 0;
    std::int64_t reserved_peak = 0;
    std::vector<PlainChange> changes;  ///< since the caller emptied it

private:
    /// Every idle piece of a pool, the smallest first, those of one size by address.
    [[nodiscard]] std::vector<At> idle(bool small) const {
        std::vector<At> all;
        for (std::size_t s = 0; s < segments_.size(); ++s) {
            if (segments_[s].small != small || segments_[s].stream != stream_) continue;
            for (std::size_t p = 0; p < segments_[s].pieces.size(); ++p) {
                if (segments_[s].pieces[p].kind == Piece::idle) all.push_back({s, p});
            }
        }
        std::sort(all.begin(), all.end(), [&](At a, At b) {
            const std::int64_t left = bytes(a);
            const std::int64_t right = bytes(b);
            if (left != right) return left < right;
            if (a.segment != b.segment) return segments_[a.segment].place < segments_[b.segment].place;
            return a.piece < b.piece;
        });
        return all;
    }
    [[nodiscard]] std::int64_t bytes(At at) const { return segments_[at.segment].pieces[at.piece].bytes; }
    [[nodiscard]] std::int64_t reach(At at) const {
        const std::vector<Piece>& pieces = segments_[at.segment].pieces;
        const bool hole = at.piece + 1 < pieces.size() && pieces[at.piece + 1].kind == Piece::hole;
        return bytes(at) + (hole ? pieces[at.piece + 1].bytes : 0);
    }
    [[nodiscard]] std::optional<At> best(std::int64_t size, bool small) const {
        std::optional<At> chosen;
        for (const At at : idle(small)) {
            if (bytes(at) < size) continue;
            if (!chosen) {
                chosen = at;
                if (!settings_.expandable_segments) break;
            } else if (reach(at) < reach(*chosen)) {
                chosen = at;
            } else {
                break;
            }
        }
        if (!chosen) return chosen;
        const bool oversize = size >= settings_.max_split_bytes;
        if (!oversize && bytes(*chosen) >= settings_.max_split_bytes) return {};
        if (oversize && bytes(*chosen) >= size + settings_.max_non_split_rounding_bytes) return {};
        return chosen;
    }
    [[nodiscard]] std::optional<At> from_device(std::int64_t size, bool small) {
        const std::int64_t segment = asked(size);
        if (allowed_ && reserved() + segment > *allowed_) return {};
        if (settings_.expandable_segments) return extend(size, small);
        if (reserved() + segment > limit_) return {};
        segments_.push_back({place(), stream_, small, {Piece{segment, Piece::idle, 0, searches_[small]}}});
        changes.push_back({true, segments_.back().place, stream_, 0, segment});
        reserved_peak = std::max(reserved_peak, reserved());
        return At{segments_.size() - 1, 0};
    }
    [[nodiscard]] std::uint64_t place() {
        std::uint64_t place = device_.address_order + ++taken_segments_;
        return device_.address_order == 0 ? place : Rng::split_mix(place);
    }
    [[nodiscard]] std::optional<At> extend(std::int64_t size, bool small) {
        const std::int64_t page = small ? PlainSizes::kib(2048) : settings_.large_segment_bytes;
        std::vector<std::size_t> order;
        for (std::size_t s = 0; s < segments_.size(); ++s) {
            if (segments_[s].small == small && segments_[s].stream == stream_) order.push_back(s);
        }
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return segments_[a].place < segments_[b].place; });
        for (const std::size_t s : order) {
            for (std::size_t p = 0; p < segments_[s].pieces.size(); ++p) {
                if (segments_[s].pieces[p].kind != Piece::hole) continue;
                std::size_t first = p;
                if (p > 0 && segments_[s].pieces[p - 1].kind == Piece::idle) first = p - 1;
                std::int64_t room = 0;
                for (std::size_t q = first; q < segments_[s].pieces.size() && segments_[s].pieces[q].kind != Piece::used; ++q)
                    room += segments_[s].pieces[q].bytes;
                if (room >= size) return fill({s, first}, size, page);
            }
        }
        std::int64_t space = device_.total_bytes + device_.total_bytes / 8;
        if (space % page != 0) space += page - space % page;
        segments_.push_back({place(), stream_, small, {Piece{space, Piece::hole, 0, 0}}});
        return fill({segments_.size() - 1, 0}, size, page);
    }
    /// Maps pages into the holes behind `at` until an idle piece of `size` stands there.
    [[nodiscard]] std::optional<At> fill(At at, std::int64_t size, std::int64_t page) {
        Segment& segment = segments_[at.segment];
        while (segment.pieces[at.piece].kind != Piece::idle || segment.pieces[at.piece].bytes < size) {
            const std::size_t hole = segment.pieces[at.piece].kind == Piece::hole ? at.piece : at.piece + 1;
            const std::int64_t have = hole == at.piece ? 0 : segment.pieces[at.piece].bytes;
            const std::int64_t wanted = std::min(size - have, segment.pieces[hole].bytes);
            std::int64_t mapped = page;
            while (mapped < wanted) mapped += page;
            if (reserved() + mapped > limit_) return {};
            std::int64_t offset = 0;
            for (std::size_t p = 0; p < hole; ++p) offset += segment.pieces[p].bytes;
            changes.push_back({true, segment.place, segment.stream, offset, mapped});
            segment.pieces[hole].bytes -= mapped;
            const Piece fresh{mapped, Piece::idle, 0, searches_[segment.small]};
            if (segment.pieces[hole].bytes == 0) segment.pieces[hole] = fresh;
            else segment.pieces.insert(segment.pieces.begin() + std::ptrdiff_t(hole), fresh);
            segment.tidy();
            reserved_peak = std::max(reserved_peak, reserved());
        }
        return at;
    }
    void drop(std::size_t segment) {
        changes.push_back({false, segments_[segment].place, segments_[segment].stream, 0, segments_[segment].pieces[0].bytes});
        segments_.erase(segments_.begin() + std::ptrdiff_t(segment));
    }

    bool drop_oversize(std::int64_t size, bool small) {
        const std::int64_t limit = settings_.max_split_bytes;
        if (limit == std::numeric_limits<std::int64_t>::max() || settings_.expandable_segments) return false;
        const std::int64_t wanted = std::max(size, limit);
        for (const At at : idle(small)) {
            if (bytes(at) < wanted) continue;
            drop(at.segment);
            return true;
        }
        std::int64_t dropped = 0;
        while (dropped < wanted) {
            const std::vector<At> all = idle(small);
            if (all.empty() || bytes(all.back()) < limit) return false;
            dropped += bytes(all.back());
            drop(all.back().segment);
        }
        return true;
    }
    /// Garbage collection of old idle segments of the large pool.
    void sweep() {
        const auto threshold = static_cast<std::int64_t>(settings_.garbage_collection_threshold * double(*allowed_));
        std::int64_t surplus = reserved() - threshold;
        while (surplus > 0) {
            std::vector<std::int64_t> ages;
            for (const Segment& segment : segments_) {
                if (!settings_.expandable_segments && !segment.small && segment.all_idle())
                    ages.push_back(searches_[0] - segment.pieces[0].idle_since);
            }
            if (ages.empty()) return;
            // In the order of the pool: a block that goes does not change the mean of this round.
            double mean = 0;
            for (const std::int64_t age : ages) mean += double(age);
            mean /= double(ages.size());
            const std::size_t before = segments_.size();
            std::erase_if(segments_, [&](const Segment& segment) {
                if (segment.small || !segment.all_idle() || double(searches_[0] - segment.pieces[0].idle_since) < mean) return false;
                surplus -= segment.pieces[0].bytes;
                changes.push_back({false, segment.place, segment.stream, 0, segment.pieces[0].bytes});
                return true;
            });
            if (segments_.size() == before) return;
        }
    }

    allocator::AllocatorSettings settings_;
    PlainSizes sizes_;
    allocator::AllocatorDevice device_;
    std::int64_t limit_;
    std::optional<std::int64_t> allowed_;
    std::vector<Segment> segments_;
    std::uint32_t stream_ = 0;  ///< of the request that is served
    std::int64_t searches_[2] = {0, 0};
    std::uint64_t taken_segments_ = 0;
};

}  // namespace hpo::tests
