// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/memory/allocation_trace.hpp"

namespace hpo::memory {

/// How large the batches of a training are.
struct BatchSize {
    std::int64_t examples = 1;
    std::int64_t length = 1;  ///< of an example, where it has one
    friend bool operator==(const BatchSize&, const BatchSize&) = default;
};

/// A training of one model, recorded with small batches.
struct SizedTrace {
    BatchSize size;
    AllocationTrace trace;
};

/// Predicts a training's trace from some with small batches: a block's bytes are c0 + c1 b + c2 s + c3 b s + c4 b s^2 for b examples of
/// length s, which is what tensors of examples, positions, tokens and pairs of tokens have. Where all lengths are the same, c0 + c1 b. As
/// many traces as there are coefficients determine them; each further one is held against what is predicted for it.
class TraceExtrapolation {
public:
    /// Throws Error where the traces are too few or of too few sizes, or where their events differ: then no block of one is that of
    /// another.
    explicit TraceExtrapolation(std::vector<SizedTrace> traces);

    /// Whether two trainings take and give back blocks in the same order, whatever their sizes.
    [[nodiscard]] static bool same_order(const AllocationTrace& one, const AllocationTrace& other) {
        return orderly(one.events) == orderly(other.events) && one.phases == other.phases;
    }
    /// The events of the traces with the blocks of another size.
    [[nodiscard]] AllocationTrace at(BatchSize size) const;
    /// Share by which the peaks of the further traces differ from what is predicted for them, at most; nothing without further ones.
    [[nodiscard]] std::optional<double> largest_error() const;

private:
    static constexpr std::size_t most_terms = 5;
    using Terms = std::array<double, most_terms>;

    static Terms terms_of(BatchSize size);
    static std::string text(BatchSize size) {
        return "batch " + std::to_string(size.examples) + (size.length > 1 ? " of length " + std::to_string(size.length) : "");
    }
    /// Blocks that are given back one after the other, in the order of their numbers: what holds them may be a hash table.
    static std::vector<std::int64_t> orderly(std::vector<std::int64_t> events);
    static void check_same(const SizedTrace& one, const SizedTrace& other);

    /// Gauss and Jordan, with pivots. Row i of `system` are the terms of trace i, so that terms = system^-1 * sizes.
    void invert();

    std::vector<SizedTrace> traces_;
    std::size_t terms_ = 2;
    std::array<Terms, most_terms> inverse_{};  ///< coefficients from the bytes that a block has in each trace
};

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/trace_extrapolation_inl.hpp"
#endif
