// SPDX-License-Identifier: MIT
#include "allocator/trace_extrapolation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/allocator/trace_peak.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

TraceExtrapolation::TraceExtrapolation(std::vector<SizedTrace> traces) : traces_{std::move(traces)} {
    const auto other_length = [&](const SizedTrace& each) { return each.size.length != traces_.front().size.length; };
    terms_ = std::any_of(traces_.begin(), traces_.end(), other_length) ? most_terms : 2;
    if (traces_.size() < terms_) throw Error{Errc::usage, "an extrapolation needs " + std::to_string(terms_) + " traces or more"};
    for (const SizedTrace& each : traces_) check_same(traces_.front(), each);
    invert();
}

AllocationTrace TraceExtrapolation::at(BatchSize size) const {
    AllocationTrace result = traces_.front().trace;
    const Terms wanted = terms_of(size);
    Terms weights{};  // weights of the traces' sizes in the result: the same for every block
    for (std::size_t i = 0; i < terms_; ++i) {
        for (std::size_t j = 0; j < terms_; ++j) weights[i] += wanted[j] * inverse_[j][i];
    }
    for (std::size_t block = 0; block < result.blocks.size(); ++block) {
        double bytes = 0;
        for (std::size_t i = 0; i < terms_; ++i) bytes += weights[i] * static_cast<double>(traces_[i].trace.blocks[block].bytes);
        result.blocks[block].bytes = std::max<std::int64_t>(1, std::llround(bytes));
    }
    return result;
}

std::optional<double> TraceExtrapolation::largest_error() const {
    std::optional<double> largest;
    for (std::size_t i = terms_; i < traces_.size(); ++i) {
        const auto real = static_cast<double>(requested_peak(traces_[i].trace).bytes);
        const auto predicted = static_cast<double>(requested_peak(at(traces_[i].size)).bytes);
        largest = std::max(largest.value_or(0), real > 0 ? std::abs(predicted / real - 1) : 0.0);
    }
    return largest;
}

TraceExtrapolation::Terms TraceExtrapolation::terms_of(BatchSize size) {
    const auto b = static_cast<double>(size.examples);
    const auto s = static_cast<double>(size.length);
    return {1, b, s, b * s, b * s * s};
}

std::vector<std::int64_t> TraceExtrapolation::orderly(std::vector<std::int64_t> events) {
    for (auto begin = events.begin(); begin != events.end();) {
        const auto end = std::find_if(begin, events.end(), [](std::int64_t event) { return event >= 0; });
        std::sort(begin, end);
        begin = std::find_if(end, events.end(), [](std::int64_t event) { return event < 0; });
    }
    return events;
}

void TraceExtrapolation::check_same(const SizedTrace& one, const SizedTrace& other) {
    if (same_order(one.trace, other.trace)) return;
    throw Error{Errc::plugin, "the training takes and gives back memory in another order with " + text(other.size) + " (" +
                                  std::to_string(other.trace.events.size()) + " events) than with " + text(one.size) + " (" +
                                  std::to_string(one.trace.events.size()) + "): other sizes cannot be predicted"};
}

void TraceExtrapolation::invert() {
    std::array<std::array<double, 2 * most_terms>, most_terms> rows{};
    for (std::size_t i = 0; i < terms_; ++i) {
        const Terms terms = terms_of(traces_[i].size);
        for (std::size_t j = 0; j < terms_; ++j) rows[i][j] = terms[j];
        rows[i][terms_ + i] = 1;
    }
    for (std::size_t column = 0; column < terms_; ++column) {
        const auto pivot =
            std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(column), rows.begin() + static_cast<std::ptrdiff_t>(terms_),
                             [&](const auto& a, const auto& b) { return std::abs(a[column]) < std::abs(b[column]); });
        if (std::abs((*pivot)[column]) < 1e-9)
            throw Error{Errc::usage, "an extrapolation needs traces of more sizes: these do not determine its coefficients"};
        std::swap(rows[column], *pivot);
        const double factor = rows[column][column];
        for (double& number : rows[column]) number /= factor;
        for (std::size_t i = 0; i < terms_; ++i) {
            if (i == column) continue;
            const double times = rows[i][column];
            for (std::size_t j = 0; j < rows[i].size(); ++j) rows[i][j] -= times * rows[column][j];
        }
    }
    for (std::size_t i = 0; i < terms_; ++i) {
        for (std::size_t j = 0; j < terms_; ++j) inverse_[i][j] = rows[i][terms_ + j];
    }
}

}  // namespace hpo::allocator
