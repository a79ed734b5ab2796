// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"

namespace hpo::allocator {

/// The batch size of a training.
struct BatchSize {
    std::int64_t examples = 1;
    std::int64_t length = 1;  ///< length of an example, if it has one
    friend bool operator==(const BatchSize&, const BatchSize&) = default;
};

/// The trace of a training with small batches, and their size.
struct SizedTrace {
    BatchSize size;
    AllocationTrace trace;
};

/// Predicts a training's trace from traces of the same training with small batches. The size of a block is c0 + c1 b + c2 s + c3 b s + c4 b
/// s^2 bytes for b examples of length s. These are the sizes of tensors of examples, positions, tokens and pairs of tokens. If all lengths
/// are the same, it is c0 + c1 b. As many traces as there are coefficients determine these. Each further trace is compared with its
/// prediction.
class TraceExtrapolation {
public:
    /// Throws Error if there are too few traces or too few different sizes. Also throws if their events differ, because then the blocks of
    /// the traces do not correspond.
    explicit TraceExtrapolation(std::vector<SizedTrace> traces);

    /// True if two trainings take and give back blocks in the same order, whatever the sizes.
    [[nodiscard]] static bool same_order(const AllocationTrace& one, const AllocationTrace& other) {
        return orderly(one.events) == orderly(other.events) && one.phases == other.phases;
    }
    /// The trace for batches of another size: the same events, other block sizes.
    [[nodiscard]] AllocationTrace at(BatchSize size) const;
    /// The largest share by which the peak of a further trace differs from its prediction. Returns nullopt if there are no further traces.
    [[nodiscard]] std::optional<double> largest_error() const;

private:
    static constexpr std::size_t most_terms = 5;
    using Terms = std::array<double, most_terms>;

    static Terms terms_of(BatchSize size);
    static std::string text(BatchSize size) {
        return "batch " + std::to_string(size.examples) + (size.length > 1 ? " of length " + std::to_string(size.length) : "");
    }
    /// The events, but with blocks that are given back one directly after the other sorted by number. Their order may come from a hash
    /// table.
    static std::vector<std::int64_t> orderly(std::vector<std::int64_t> events);
    static void check_same(const SizedTrace& one, const SizedTrace& other);

    /// Inverts the system by Gauss-Jordan elimination with pivots. Row i of `system` holds the terms of trace i, so that terms = system^-1
    /// * sizes.
    void invert();

    std::vector<SizedTrace> traces_;
    std::size_t terms_ = 2;
    std::array<Terms, most_terms> inverse_{};  ///< maps a block's sizes in the traces to its coefficients
};

}  // namespace hpo::allocator
